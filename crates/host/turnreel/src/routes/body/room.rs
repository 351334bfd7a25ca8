//! Where the bytes of a body are kept until it is whole.

use crate::state::HELD_UNIT_BYTES;

/// So much of a body takes no room of the others' as long as there is more to come: it is no more than its connection takes, and
/// of these there are so many. Else who began many bodies, and sent nothing of them, had all the room.
pub(super) const BEGUN_BYTES: usize = 4 * 1024;

/// The bytes of a body as they come, in parts of one size: one that grew would be moved again and again, and leaves behind
/// what fits nobody else.
#[derive(Default)]
pub(super) struct Room {
    parts: Vec<Vec<u8>>,
    bytes: usize,
}

impl Room {
    /// How many there are.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, mut piece: &[u8]) {
        self.bytes += piece.len();
        while !piece.is_empty() {
            let full = self
                .parts
                .last()
                .is_none_or(|part| part.len() == HELD_UNIT_BYTES);
            if full {
                self.parts.push(Vec::new());
            }
            let Some(part) = self.parts.last_mut() else {
                return;
            };
            let n = piece.len().min(HELD_UNIT_BYTES - part.len());
            if part.capacity() < part.len() + n {
                // Most bodies are one small piece; of another there is more to come.
                let bytes = match part.len() + n {
                    bytes if part.is_empty() => bytes,
                    0..=BEGUN_BYTES => BEGUN_BYTES,
                    _ => HELD_UNIT_BYTES,
                };
                part.reserve_exact(bytes - part.len());
            }
            part.extend_from_slice(&piece[..n]);
            piece = &piece[n..];
        }
    }

    /// All of it. Each part goes when it was copied.
    pub(super) fn into_whole(mut self) -> Vec<u8> {
        if self.parts.len() <= 1 {
            return self.parts.pop().unwrap_or_default();
        }
        let mut whole = Vec::with_capacity(self.bytes);
        for part in self.parts {
            whole.extend_from_slice(&part);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_came_however_it_was_cut_and_takes_no_more_room_than_is_counted() {
        let body: Vec<u8> = (0..=u8::MAX)
            .cycle()
            .take(3 * HELD_UNIT_BYTES + 7)
            .collect();
        let cuts = [
            7,
            1000,
            HELD_UNIT_BYTES - 1,
            HELD_UNIT_BYTES,
            HELD_UNIT_BYTES + 1,
        ];
        for n_bytes in [0, 1, HELD_UNIT_BYTES, HELD_UNIT_BYTES + 1, body.len()] {
            for cut in cuts {
                let mut room = Room::default();
                for piece in body[..n_bytes].chunks(cut) {
                    room.push(piece);
                    assert!(
                        room.parts
                            .iter()
                            .all(|part| part.capacity() <= HELD_UNIT_BYTES)
                    );
                    assert!(room.parts.len() <= room.bytes / HELD_UNIT_BYTES + 1);
                    let begun = room.parts.iter().map(Vec::capacity).sum::<usize>();
                    assert!(room.bytes > BEGUN_BYTES || begun <= BEGUN_BYTES);
                }
                assert_eq!(room.bytes, n_bytes);
                assert!(
                    room.into_whole() == body[..n_bytes],
                    "{n_bytes} bytes cut at {cut}"
                );
            }
        }
    }
}
