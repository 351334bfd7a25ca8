//! Long bodies that lie beside a log, in the folder it is in: put back into the events they were taken out of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chat_event::{BodyRef, ChatEvent, bodies};
use chat_feed::projections::trace::clean;
use chat_feed::units;
use chat_store::{Blobs, BodyText, Error, WHOLE_BYTES};

use super::inputs::Input;

/// A longer body stays where it is: its line would be longer than a reader takes.
const BODY_BYTES: u64 = 8 * 1024 * 1024;

/// As many are told of one by one.
const MOST_TOLD: usize = 1000;

/// The bodies beside logs, and what is to be said of those that are not put back.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    /// Of each folder that has any.
    blobs: Vec<Blobs>,
    faults: Vec<String>,
    n_more: u64,
}

impl Bodies {
    /// Those beside the logs of these inputs.
    pub(crate) fn beside<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> Bodies {
        let logs = inputs.into_iter().filter_map(|input| input.path.as_deref());
        let folders: BTreeSet<PathBuf> = logs
            .filter_map(Path::parent)
            .filter(|folder| folder.join("blobs").is_dir())
            .map(Path::to_owned)
            .collect();
        Bodies {
            blobs: folders.iter().map(|folder| Blobs::beside(folder)).collect(),
            ..Bodies::default()
        }
    }

    /// Puts back the bodies of one event, as many as it may hold.
    pub(crate) fn put_back(&mut self, event: &mut ChatEvent) {
        let Bodies {
            blobs,
            faults,
            n_more,
        } = self;
        if blobs.is_empty() {
            return;
        }
        let mut room_bytes = WHOLE_BYTES;
        let mut find = |reference: &BodyRef| -> Result<Option<String>, std::convert::Infallible> {
            let which = clean(&reference.sha256);
            let fault = match text(blobs, reference, room_bytes.min(BODY_BYTES)) {
                Ok(BodyText::Text(body)) => {
                    room_bytes = room_bytes.saturating_sub(body.len() as u64);
                    return Ok(Some(body));
                }
                Ok(BodyText::TooLong(bytes)) => {
                    format!("a body of {} is not in it: {which}", units::bytes(bytes))
                }
                Ok(BodyText::NoText) => format!("a body that is no text is not in it: {which}"),
                Ok(BodyText::Missing) => format!("a body is not there: {which}"),
                Err(why) => why.to_string(),
            };
            // One that an event has many times is told of once.
            if faults.last() == Some(&fault) {
                return Ok(None);
            }
            if faults.len() < MOST_TOLD {
                faults.push(fault);
            } else {
                *n_more += 1;
            }
            Ok(None)
        };
        let Ok(()) = bodies::put_back(event, &mut find);
    }

    /// What was not put back, a sentence each.
    pub(crate) fn faults(self) -> Vec<String> {
        let mut faults = self.faults;
        if self.n_more > 0 {
            let n = units::grouped(self.n_more);
            faults.push(format!("bodies are not in it, or not there: {n} more"));
        }
        faults
    }
}

/// A body as text, of the first folder that has it.
fn text(blobs: &[Blobs], reference: &BodyRef, most_bytes: u64) -> Result<BodyText, Error> {
    let mut found = Ok(BodyText::Missing);
    for blobs in blobs {
        found = blobs.text(reference, most_bytes);
        if !matches!(found, Ok(BodyText::Missing)) {
            break;
        }
    }
    found
}
