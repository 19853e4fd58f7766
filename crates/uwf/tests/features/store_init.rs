//! `uwf store init`: a shared store is made ready. What it makes of real servers is in tests/stores.

use crate::home;

#[test]
fn files_of_this_machine_need_nothing() {
    let home = home();
    let refused = home.uwf(&["store", "init"]);
    assert_eq!(refused.code, Some(64));
    assert!(refused.stderr.contains("need no initialization"), "{}", refused.stderr);
    assert!(refused.stderr.contains("UWF_STORE_URL=s3://"), "it says how another one is named: {}", refused.stderr);
}
