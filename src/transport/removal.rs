//! A session is removed from its server, with its copies.

use serde::Deserialize;

use super::link::{Server, in_time};
use super::live::encoded;
use crate::platform::stream::delete;

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Removed {
    /// It is gone; what is left of it, and why.
    Gone(Vec<String>),
    /// It is at work, and stays: with force it goes all the same.
    Works,
}

/// Removes a session; one that is not there any more is gone, too.
///
/// # Errors
///
/// Why it may still be there, in words.
pub(crate) async fn remove(server: &Server, session: &str, force: bool) -> Result<Removed, String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body {
        left: Vec<String>,
        error: Told,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Told {
        code: String,
        message: String,
    }
    let route = format!("sessions/{}?force={}", encoded(session), u8::from(force));
    let address = server.route(&route);
    let answered = in_time(delete(&address, server.token.as_deref())).await;
    let (status, bytes) = match answered {
        Some(Ok(answer)) => answer,
        Some(Err(why)) => return Err(why.to_string()),
        None => {
            return Err(format!(
                "{} does not answer; it may still do it",
                server.name()
            ));
        }
    };
    let body: Body = serde_json::from_slice(&bytes).unwrap_or_default();
    match status {
        200..300 => Ok(Removed::Gone(body.left)),
        404 if body.error.code == "not_found" => Ok(Removed::Gone(Vec::new())),
        409 if body.error.code == "working" => Ok(Removed::Works),
        401 => Err("the server asks for another token".to_owned()),
        403 => Err("this token may not remove sessions".to_owned()),
        _ if body.error.message.is_empty() => Err(format!("the server answered {status}")),
        _ => Err(body.error.message),
    }
}
