//! A mistake of ours in one request or one session is answered there, and said in the log by its place.
//!
//! What a panic says may hold what somebody sent: a text that was cut within a letter is quoted whole. So only its place is
//! told, never its words.

use std::panic::{AssertUnwindSafe, Location, PanicHookInfo};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use crate::error::ApiError;

/// From now on panics are told by their place.
pub(crate) fn tell_places_only() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        tracing::error!("{}", words_of(info.location()));
    }));
}

fn words_of(place: Option<&Location<'_>>) -> String {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("without a name");
    match place {
        Some(place) => {
            format!("this is a mistake of turnreel: a panic at {place} in the thread {thread}")
        }
        None => format!("this is a mistake of turnreel: a panic in the thread {thread}"),
    }
}

/// The answer of `answering`, or 500 where it panics: the connection and all others go on.
pub(crate) async fn answered<E>(
    answering: impl Future<Output = Result<Response, E>>,
) -> Result<Response, E> {
    match AssertUnwindSafe(answering).catch_unwind().await {
        Ok(answer) => answer,
        // The hook has told of it.
        Err(_) => Ok(failed().into_response()),
    }
}

/// What is answered where the server failed.
pub(crate) fn failed() -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server failed; its log says where",
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Sockets and requests of other tests panic on purpose too, in other threads: only ours counts.
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[tokio::test]
    async fn a_panic_is_answered_and_told_without_its_words() {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(|info| {
            let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
            said.push(words_of(info.location()));
        }));
        let secret = "s\u{e9}cret".to_owned();
        let answering = async { Ok::<_, Infallible>(secret[..2].to_owned().into_response()) };
        let response = answered(answering).await.unwrap();
        std::panic::set_hook(before);
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let said = SAID.lock().unwrap();
        assert!(
            said.iter().any(|words| words.contains("panics.rs")),
            "{said:?}"
        );
        assert!(!said.iter().any(|words| words.contains("cret")), "{said:?}");
    }
}
