//! Goes along what is known of a file, a hunk at a time.

use super::Refused;
use super::known::Piece;
use crate::patch::PatchLine;

/// The walk of one diff down the file.
pub(super) struct Walk {
    /// What is left of a piece that was begun.
    pub(super) rest: Option<Piece>,
    pub(super) out: Vec<Piece>,
    /// Whether the file ends where the pieces do.
    pub(super) ends: bool,
    /// Lines of the file as it was before this diff that lie behind.
    pub(super) at: usize,
}

impl Walk {
    /// Passes what lies before the line `to`, from 0.
    pub(super) fn skip_to(
        &mut self,
        to: usize,
        before: &mut impl Iterator<Item = Piece>,
    ) -> Result<(), Refused> {
        let mut n_lines = to.checked_sub(self.at).ok_or(Refused::Mismatch)?;
        self.at = to;
        while n_lines > 0 {
            match self.rest.take().or_else(|| before.next()) {
                Some(Piece::Unknown(n_unknown)) => {
                    let taken = n_unknown.min(n_lines);
                    self.pass_unknown(taken);
                    n_lines -= taken;
                    if n_unknown > taken {
                        self.rest = Some(Piece::Unknown(n_unknown - taken));
                    }
                }
                Some(gone @ Piece::Removed(_)) => self.out.push(gone),
                Some(line) => {
                    self.out.push(line);
                    n_lines -= 1;
                }
                None if self.ends => return Err(Refused::Mismatch),
                None => {
                    self.pass_unknown(n_lines);
                    n_lines = 0;
                }
            }
        }
        Ok(())
    }

    fn pass_unknown(&mut self, n_lines: usize) {
        if let Some(Piece::Unknown(last)) = self.out.last_mut() {
            *last += n_lines;
        } else {
            self.out.push(Piece::Unknown(n_lines));
        }
    }

    /// Takes the next line, which the diff says is `text`.
    pub(super) fn take(
        &mut self,
        text: String,
        removed: bool,
        before: &mut impl Iterator<Item = Piece>,
    ) -> Result<(), Refused> {
        self.at += 1;
        loop {
            match self.rest.take().or_else(|| before.next()) {
                Some(gone @ Piece::Removed(_)) => {
                    self.out.push(gone);
                    continue;
                }
                Some(Piece::Unknown(n_lines)) => {
                    if n_lines > 1 {
                        self.rest = Some(Piece::Unknown(n_lines - 1));
                    }
                    self.out.push(if removed {
                        Piece::Removed(text)
                    } else {
                        Piece::Kept(text)
                    });
                }
                Some(Piece::Kept(known)) if known == text => {
                    self.out.push(if removed {
                        Piece::Removed(text)
                    } else {
                        Piece::Kept(text)
                    });
                }
                Some(Piece::Added(known)) if known == text => {
                    if !removed {
                        self.out.push(Piece::Added(text));
                    }
                }
                None if !self.ends => {
                    self.out.push(if removed {
                        Piece::Removed(text)
                    } else {
                        Piece::Kept(text)
                    });
                }
                Some(Piece::Kept(_) | Piece::Added(_)) | None => return Err(Refused::Mismatch),
            }
            return Ok(());
        }
    }
}

pub(super) fn line_text(line: &PatchLine, source: &str) -> String {
    let mut text = source.get(line.range.clone()).unwrap_or("").to_owned();
    if !line.no_newline {
        text.push('\n');
    }
    text
}
