//! A plain socket that sends lines of a log: one ChatEvent a message, or several lines. No cursor, no resume; what
//! speaks `protocol.md` is followed by `live`.

use futures_util::StreamExt;
use gloo_net::websocket::Message;
use gloo_net::websocket::futures::WebSocket;

use super::Running;

/// Hands on the bytes of each message, ended by a newline.
pub(crate) fn of_socket(address: &str, take: impl Fn(&[u8]) + 'static) -> Option<Running> {
    let mut socket = WebSocket::open(address).ok()?;
    Some(Running::begin(async move {
        while let Some(Ok(message)) = socket.next().await {
            let mut bytes = match message {
                Message::Text(text) => text.into_bytes(),
                Message::Bytes(bytes) => bytes,
            };
            if bytes.last() != Some(&b'\n') {
                bytes.push(b'\n');
            }
            take(&bytes);
        }
    }))
}
