//! The heads of requests as they pass: where one begins, and whether it was said oddly. No byte is kept.

/// As much of a line as tells which header it is.
pub(super) const LINE_BYTES: usize = 64;

/// Where in the stream of requests the next byte stands.
#[derive(Default)]
pub(super) struct Heads {
    pub(super) odd: bool,
    /// The rest is not looked at.
    pub(super) blind: bool,
    /// Bytes of a body, or of a chunk of it, that are still to come.
    body_left: u64,
    /// What stands behind those, within a body in chunks.
    chunks: Option<Chunks>,
    /// The line that is read now, in lower case and without its end, as far as it matters.
    line: Vec<u8>,
    after_cr: bool,
    n_lines: u32,
    length: Option<u64>,
    in_chunks: bool,
}

/// A line within a body in chunks (RFC 9112, 7.1).
#[derive(Clone, Copy)]
enum Chunks {
    /// The size of the next.
    Size,
    /// The end of the one before, which is empty.
    End,
    /// What is said behind the last, up to an empty one.
    Trailer,
}

impl Heads {
    pub(super) fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.blind {
            if self.body_left > 0 {
                let skipped = usize::try_from(self.body_left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                self.body_left -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            let byte = bytes[0];
            bytes = &bytes[1..];
            match byte {
                b'\n' => self.end_line(),
                b'\r' => self.after_cr = true,
                _ => {
                    self.after_cr = false;
                    // However much room there is before a value, it is read by whoever reads the head, and so here.
                    let is_room = matches!(byte, b' ' | b'\t') && self.line.last() == Some(&b':');
                    if self.line.len() < LINE_BYTES && !is_room {
                        self.line.push(byte.to_ascii_lowercase());
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        let is_ended = std::mem::take(&mut self.after_cr);
        let line = std::mem::take(&mut self.line);
        self.odd |= !is_ended;
        let Some(chunks) = self.chunks else {
            return self.end_head_line(&line);
        };
        if !is_ended || !self.end_chunk_line(chunks, &line) {
            // Where the next head begins is not known then: its reader refuses it, or it is refused as odd.
            self.odd = true;
            self.blind = true;
        }
    }

    fn end_head_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            // An empty line before a request is none of it.
            if self.n_lines > 0 {
                self.end_head();
            }
            return;
        }
        self.n_lines = self.n_lines.saturating_add(1);
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else {
            return;
        };
        match name {
            "content-length" => match value.trim().parse() {
                Ok(length) => self.length = Some(length),
                // It is refused by its reader.
                Err(_) => self.blind = true,
            },
            "transfer-encoding" => self.in_chunks = true,
            _ => {}
        }
    }

    fn end_head(&mut self) {
        *self = Heads {
            odd: self.odd | (self.in_chunks && self.length.is_some()),
            blind: self.blind,
            chunks: self.in_chunks.then_some(Chunks::Size),
            body_left: match self.in_chunks {
                true => 0,
                false => self.length.unwrap_or(0),
            },
            ..Heads::default()
        };
    }

    /// Goes on behind a line within a body in chunks; `false` where it is none that stands there.
    fn end_chunk_line(&mut self, chunks: Chunks, line: &[u8]) -> bool {
        match chunks {
            Chunks::Size => {
                let n_digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
                let (digits, rest) = line.split_at(n_digits.count());
                // Of a line that is longer than it matters the size may be another.
                let is_whole = digits.len() < LINE_BYTES
                    && rest.first().is_none_or(|byte| b" \t;".contains(byte));
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                match u64::from_str_radix(digits, 16) {
                    Ok(size) if is_whole => {
                        self.body_left = size;
                        self.chunks = Some(match size {
                            0 => Chunks::Trailer,
                            _ => Chunks::End,
                        });
                        true
                    }
                    Ok(_) | Err(_) => false,
                }
            }
            Chunks::End => {
                self.chunks = Some(Chunks::Size);
                line.is_empty()
            }
            Chunks::Trailer => {
                if line.is_empty() {
                    self.chunks = None;
                }
                true
            }
        }
    }

    /// Whether more of a body is to come.
    pub(super) fn is_within_body(&self) -> bool {
        self.body_left > 0 || self.chunks.is_some()
    }

    pub(super) fn is_within(&self) -> bool {
        !self.blind && !self.is_within_body() && (self.n_lines > 0 || !self.line.is_empty())
    }
}
