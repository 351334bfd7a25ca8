//! An answer on its way up: to what an agent asks, sent once. What came of it for the session comes back as an event.

use chat_event::Json;
use serde::Deserialize;

use super::link::{Server, in_time};
use super::live::encoded;
use crate::platform::stream::post_json;

/// Which of the server's routes takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Of permissions.
    Permissions,
    /// Of questions.
    Questions,
}

/// Why an answer was not taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// Another one was first; its payload.
    Already(Json),
    /// It may be sent again; why.
    Failed(String),
}

/// Sends an answer: a JSON object, as the route has it.
pub(crate) async fn send(
    server: Server,
    session: String,
    route: Route,
    request_id: String,
    json: String,
) -> Result<(), Refusal> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body {
        outcome: Json,
        error: Told,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Told {
        message: String,
        retry_after_ms: Option<u64>,
    }
    let route = match route {
        Route::Permissions => "permissions",
        Route::Questions => "questions",
    };
    let path = format!(
        "sessions/{}/{route}/{}",
        encoded(&session),
        encoded(&request_id)
    );
    let address = server.route(&path);
    let posted = in_time(post_json(&address, server.token.as_deref(), &json)).await;
    let Some(Ok((status, bytes))) = posted else {
        let why = format!("{} does not answer", server.name());
        return Err(Refusal::Failed(why));
    };
    if (200..300).contains(&status) {
        return Ok(());
    }
    let body: Body = serde_json::from_slice(&bytes).unwrap_or_default();
    let why = match status {
        409 if !body.outcome.is_null() => return Err(Refusal::Already(body.outcome)),
        401 => "the server asks for another token".to_owned(),
        403 => "this token may only read".to_owned(),
        404 => "the server knows no such request any more".to_owned(),
        429 | 503 => match body.error.retry_after_ms {
            Some(wait_ms) => format!("the server is busy for {} s", wait_ms.div_ceil(1_000)),
            None => "the server is busy".to_owned(),
        },
        _ if body.error.message.is_empty() => format!("the server answered {status}"),
        _ => body.error.message,
    };
    Err(Refusal::Failed(why))
}
