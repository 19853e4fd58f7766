//! What every backend must do.

use json_cas::Objects;
use json_cas::conformance::{heads_suite, notes_suite, objects_suite};

use crate::servers::{Kind, Server};

#[test]
fn objects_on_moto_pass_the_conformance_suite() {
    let server = Server::start(Kind::Moto);
    objects_suite(&|| Box::new(server.fresh()) as Box<dyn Objects>);
}

#[test]
fn heads_on_moto_pass_the_conformance_suite() {
    let server = Server::start(Kind::Moto);
    heads_suite(&|| server.fresh());
}

#[test]
fn objects_on_seaweedfs_pass_the_conformance_suite() {
    let server = Server::start(Kind::SeaweedFs);
    objects_suite(&|| Box::new(server.fresh()) as Box<dyn Objects>);
}

#[test]
fn heads_on_seaweedfs_pass_the_conformance_suite() {
    let server = Server::start(Kind::SeaweedFs);
    heads_suite(&|| server.fresh());
}

// Not on moto: it compares tags and stores in two steps, so of 200 counted up by eight threads one was lost there once.
#[test]
fn notes_on_seaweedfs_pass_the_conformance_suite() {
    let server = Server::start(Kind::SeaweedFs);
    notes_suite(&|| server.fresh());
}
