//! What is masked before it comes to a log, or goes another way: the bodies that events speak of, batches for another server,
//! and lines that are refused.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, bodies};
use chat_feed::mask::TextMasker;
use chat_store::Error;
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::fleet::bodies::of as bodies_of;
use crate::state::State;

/// Masks the bodies that events speak of and that are here as they were sent, before the session is held for it.
///
/// # Errors
///
/// Where the server stops.
pub(crate) async fn prepare(state: &State, events: &[ChatEvent]) -> Result<(), ApiError> {
    if state.masking.get().is_none() {
        return Ok(());
    }
    // Most events are pieces, which have no place for one.
    let may_refer = |event: &&ChatEvent| bodies::TYPES.contains(&event.event_type());
    let hashes = events.iter().filter(may_refer).flat_map(bodies_of);
    let hashes: BTreeSet<String> = hashes.collect();
    if hashes.is_empty() {
        return Ok(());
    }
    let own = state.clone();
    let preparing = move || {
        if let Some(masking) = own.masking.get() {
            masking.prepare(own.store.blobs(), &hashes);
        }
    };
    Ok(tokio::task::spawn_blocking(preparing).await?)
}

/// Has events that go on to another server refer to what is kept here of their bodies.
///
/// # Errors
///
/// Where the disk refuses, and where the server stops.
pub(crate) async fn refer_all(state: &State, events: &mut Vec<ChatEvent>) -> Result<(), ApiError> {
    if state.masking.get().is_none() {
        return Ok(());
    }
    let (own, mut taken) = (state.clone(), std::mem::take(events));
    let referring = move || -> Result<_, Error> {
        if let Some(masking) = own.masking.get() {
            for event in &mut taken {
                masking.refer(own.store.blobs(), event)?;
            }
        }
        Ok(taken)
    };
    *events = tokio::task::spawn_blocking(referring).await??;
    Ok(())
}

/// A batch that goes on to another server as it came, with references to what is kept here of its bodies; `None` where it is
/// the same, or no batch.
///
/// # Errors
///
/// As [`refer_all`].
pub(crate) async fn refer_batch(state: &State, body: &[u8]) -> Result<Option<Vec<u8>>, ApiError> {
    let items: Option<Vec<Box<RawValue>>> = serde_json::from_slice(body).ok();
    let (Some(_), Some(items)) = (state.masking.get(), items) else {
        return Ok(None);
    };
    let (mut events, mut places) = (Vec::new(), Vec::new());
    let mut texts: Vec<String> = items.iter().map(|item| item.get().to_owned()).collect();
    for (place, text) in texts.iter().enumerate() {
        // The others are as they are, and so is what is none.
        if let Ok(event) = ChatEvent::from_json(text)
            && !bodies_of(&event).is_empty()
        {
            events.push(event);
            places.push(place);
        }
    }
    if events.is_empty() {
        return Ok(None);
    }
    refer_all(state, &mut events).await?;
    for (place, event) in places.into_iter().zip(&events) {
        texts[place] = event.to_line();
    }
    Ok(Some(format!("[{}]", texts.join(",")).into_bytes()))
}

/// Lines that are kept as they were sent, for they are refused, without their secrets.
pub(crate) fn masked_lines(state: &State, lines: &[&str]) -> Vec<String> {
    let masked = |line: &&str| match state.masking.get() {
        None => (*line).to_owned(),
        Some(_) => {
            let mut masker = TextMasker::default();
            masker.push(line) + &masker.finish()
        }
    };
    lines.iter().map(masked).collect()
}
