//! Unreadable objects of heads: written by hand, or left by a partial restore of a bucket.

use json_cas::{Damaged, Hash, Head, HeadsError, Pointing, Swap, Version};

use crate::bucket::{Bucket, Written};
use crate::name::{Named, State, head_key, look, look_past, settle_all};
use crate::parallel::{READS_AT_ONCE, each};
use crate::past::{Live, Said, Trace};
use crate::tag::Tag;
use crate::token;

/// Reads each listed name separately, and returns the names whose lives are not over.
pub(crate) fn survey(bucket: &Bucket, all: &[Named<'_>]) -> Result<Vec<(String, Pointing)>, HeadsError> {
    let pointing = each(all, READS_AT_ONCE, |named| look_closely(bucket, named))?;
    Ok(all.iter().zip(pointing).filter_map(|(named, pointing)| Some((named.name.to_owned(), pointing?))).collect())
}

fn look_closely(bucket: &Bucket, named: &Named<'_>) -> Result<Option<Pointing>, HeadsError> {
    let Some(found) = bucket.get(named.key)? else { return Ok(None) };
    let Err(reason) = Said::parse(&found.bytes) else {
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
            let version = Some(Version::new(format!("{}\n{}", found.tag, named.life)));
            Ok(Some(Err(Damaged { reason: format!("{}/{}: {reason}", bucket.name(), named.key), version })))
        }
        Err(unreadable @ HeadsError::Unreadable { .. }) => Ok(Some(Err(doubtful(&unreadable)))),
        Err(error) => Err(error),
    }
}

/// For a name whose past can't be read: its life may be over.
fn doubtful(past: &HeadsError) -> Damaged {
    Damaged { reason: past.to_string(), version: None }
}

/// Writes a head over a damaged object, if the object is still the one that was seen. `None` if the version does not belong to a damaged
/// object.
pub(crate) fn mend(bucket: &Bucket, name: &str, seen: &Version, new: Hash) -> Result<Option<Swap>, HeadsError> {
    let Some((tag, life)) = seen.token().split_once('\n') else { return Ok(None) };
    let Ok(life) = life.parse() else { return Ok(None) };
    let token = token::unique();
    let said = Said::Live(Live { head: new, trace: Trace::mended(&token) });
    if let Written::Done { .. } = bucket.update(&head_key(name, life), &Tag::parse(tag), &said.bytes())? {
        return Ok(Some(Swap::Done));
    }
    Ok(Some(match look(bucket, name)? {
        // The answer to the first attempt was lost.
        State::Live(seat) if seat.trace.has(&token) => Swap::Done,
        State::Live(seat) => Swap::Moved(Some(seat.head())),
        State::Removed { .. } | State::Absent { .. } => Swap::Moved(None::<Head>),
    }))
}
