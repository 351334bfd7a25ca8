//! Terminals: what a command prints, as the client is asked for it or, in version 2, as the agent says it.

use serde_json::Value;

use super::session::Session;
use crate::emit::Emitter;
use crate::value::{str_of, text_of};

/// A terminal of which output came.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    /// The call that shows it.
    pub(super) call: Option<String>,
    pub(super) printed: String,
    /// What of it the call's events have.
    told: usize,
    exit_code: Option<i64>,
    /// Bytes that are no whole character yet.
    rest: Vec<u8>,
}

impl Session {
    /// The call `native` shows a terminal.
    pub(super) fn attach_terminal(&mut self, native: &str, id: &str) {
        let terminal = self.terminals.entry(id.to_owned()).or_default();
        terminal.call = Some(native.to_owned());
    }

    /// The answer to `terminal/output`: the output so far, perhaps without its beginning.
    pub(super) fn terminal_output(&mut self, emitter: &mut Emitter, id: &str, result: &Value) {
        emitter.pass_over("terminal/output");
        let output = str_of(result, "output").unwrap_or("");
        let terminal = self.terminals.entry(id.to_owned()).or_default();
        match output.strip_prefix(terminal.printed.as_str()) {
            Some(more) => terminal.printed.push_str(more),
            // Its beginning was dropped: what is there now is what counts.
            None => {
                output.clone_into(&mut terminal.printed);
                terminal.told = usize::MAX;
            }
        }
        if let Some(exit) = result.get("exitStatus") {
            terminal.exit_code = exit.get("exitCode").and_then(Value::as_i64);
        }
        self.tell_terminal(emitter, id);
    }

    /// The answer to `terminal/wait_for_exit`.
    pub(super) fn terminal_exit(&mut self, id: &str, result: &Value) {
        let code = result.get("exitCode").and_then(Value::as_i64);
        let terminal = self.terminals.entry(id.to_owned()).or_default();
        terminal.exit_code = code.or(terminal.exit_code);
        let (call, code) = (terminal.call.clone(), terminal.exit_code);
        if let Some(call) = call.and_then(|call| self.calls.get_mut(&call)) {
            call.exit_code = code;
        }
    }

    /// `terminal_update` and `terminal_output_chunk` of version 2.
    pub(super) fn terminal_said(&mut self, emitter: &mut Emitter, update: &Value) {
        let id = text_of(update, "terminalId").unwrap_or("").to_owned();
        let terminal = self.terminals.entry(id.clone()).or_default();
        let whole = update
            .get("output")
            .and_then(|output| str_of(output, "data"));
        if let Some(data) = whole {
            terminal.rest.clear();
            let text = String::from_utf8_lossy(&base64(data)).into_owned();
            if !text.starts_with(terminal.printed.as_str()) {
                terminal.told = usize::MAX;
            }
            terminal.printed = text;
        }
        if let Some(data) = str_of(update, "data") {
            let mut bytes = std::mem::take(&mut terminal.rest);
            bytes.extend(base64(data));
            let whole = match std::str::from_utf8(&bytes) {
                Ok(_) => bytes.len(),
                // A character that is not whole yet waits for its end; what is none is replaced.
                Err(why) if why.error_len().is_none() => why.valid_up_to(),
                Err(_) => bytes.len(),
            };
            terminal.rest = bytes.split_off(whole);
            terminal.printed.push_str(&String::from_utf8_lossy(&bytes));
        }
        if let Some(exit) = update.get("exitStatus") {
            let code = exit.get("exitCode").and_then(Value::as_i64);
            terminal.exit_code = code.or(terminal.exit_code);
        }
        emitter.pass_over("a terminal's output");
        self.tell_terminal(emitter, &id);
    }

    fn tell_terminal(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(terminal) = self.terminals.get_mut(id) else {
            return;
        };
        let Some(call) = terminal
            .call
            .as_ref()
            .and_then(|call| self.calls.get_mut(call))
        else {
            return;
        };
        call.exit_code = terminal.exit_code.or(call.exit_code);
        if let Some(more) = terminal.printed.get(terminal.told..) {
            let more = more.to_owned();
            terminal.told = terminal.printed.len();
            call.prints(emitter, &more);
        }
    }
}

/// The bytes of base64; what is none of its characters is left out.
fn base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut n_bits) = (0u32, 0u32);
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = (bits << 6) | u32::from(six);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push(u8::try_from((bits >> n_bits) & 0xff).unwrap_or(0));
        }
        bits &= 0xffff;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(base64("aGVsbG8="), b"hello");
        assert_eq!(base64("aGVsbG8"), b"hello");
        assert_eq!(base64("4oKs\n"), "€".as_bytes());
        assert_eq!(base64("!"), b"");
    }
}
