//! Unreadable objects of heads: written by hand, or left by a partial restore of a bucket.

use json_cas::{Head, HeadsError, NameDamage, NameVersion, NodeHash, Pointing, SwapOutcome};

use crate::bucket::{BucketWriteOutcome, StoreBucket};
use crate::name::{BucketNameState, ListedNameLife, head_key, look_past, read_state, settle_all};
use crate::parallel::{READS_AT_ONCE, each};
use crate::past::{HeadObject, LiveHeadObject, MoveTrace};
use crate::tag::ObjectTag;
use crate::token;

/// Reads each listed name separately, and returns the names whose lives are not over.
pub(crate) fn survey(bucket: &StoreBucket, all: &[ListedNameLife<'_>]) -> Result<Vec<(String, Pointing)>, HeadsError> {
    let pointing = each(all, READS_AT_ONCE, |named| look_closely(bucket, named))?;
    Ok(all.iter().zip(pointing).filter_map(|(named, pointing)| Some((named.name.to_owned(), pointing?))).collect())
}

fn look_closely(bucket: &StoreBucket, named: &ListedNameLife<'_>) -> Result<Option<Pointing>, HeadsError> {
    let Some(found) = bucket.get(named.key)? else { return Ok(None) };
    let Err(reason) = HeadObject::parse(&found.bytes) else {
        return match settle_all(bucket, std::slice::from_ref(named)) {
            Ok(settled) => Ok(settled.first().and_then(|(_, settled)| settled.head()).map(Ok)),
            Err(unreadable @ HeadsError::Unreadable { .. }) => Ok(Some(Err(doubtful(&unreadable)))),
            Err(error) => Err(error),
        };
    };
    match look_past(bucket, named.name) {
        // The life is over, so the object is only a leftover.
        Ok(Some((_, past))) if past.over >= named.life => {
            bucket.delete(named.key)?;
            Ok(None)
        }
        Ok(_) => {
            let version = Some(NameVersion::new(format!("{}\n{}", found.tag, named.life)));
            Ok(Some(Err(NameDamage { reason: format!("{}/{}: {reason}", bucket.name(), named.key), version })))
        }
        Err(unreadable @ HeadsError::Unreadable { .. }) => Ok(Some(Err(doubtful(&unreadable)))),
        Err(error) => Err(error),
    }
}

/// For a name whose past can't be read: its life may be over.
fn doubtful(past: &HeadsError) -> NameDamage {
    NameDamage { reason: past.to_string(), version: None }
}

/// Writes a head over a damaged object, if the object is still the one that was seen. `None` if the version does not belong to a damaged
/// object.
pub(crate) fn mend(
    bucket: &StoreBucket,
    name: &str,
    seen: &NameVersion,
    new: NodeHash,
) -> Result<Option<SwapOutcome>, HeadsError> {
    let Some((tag, life)) = seen.token().split_once('\n') else { return Ok(None) };
    let Ok(life) = life.parse() else { return Ok(None) };
    let token = token::unique();
    let said = HeadObject::Live(LiveHeadObject { head: new, trace: MoveTrace::mended(&token) });
    if let BucketWriteOutcome::Done { .. } =
        bucket.update(&head_key(name, life), &ObjectTag::parse(tag), &said.bytes())?
    {
        return Ok(Some(SwapOutcome::Done));
    }
    Ok(Some(match read_state(bucket, name)? {
        // The answer to the first attempt was lost.
        BucketNameState::Live(seat) if seat.trace.has(&token) => SwapOutcome::Done,
        BucketNameState::Live(seat) => SwapOutcome::Moved(Some(seat.head())),
        BucketNameState::Removed { .. } | BucketNameState::Absent { .. } => SwapOutcome::Moved(None::<Head>),
    }))
}
