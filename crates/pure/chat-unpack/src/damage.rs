//! What is wrong with a packed file, and where.

use std::fmt;

use crate::Packing;

/// Why a file cannot be unpacked any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// How it is packed.
    pub packing: Packing,
    /// So many packed bytes lie before the place.
    pub at: u64,
    /// What is wrong there.
    pub why: Why,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The file ends within a member or a frame.
    Cut,
    /// These bytes cannot have been written by a packer.
    Data,
    /// What was unpacked is not what was packed.
    Checksum,
    /// Something else follows what is packed.
    Rest,
    /// It was packed in a way that is not known.
    Method(u8),
    /// So many bytes of what was unpacked would have to be kept.
    Window(u64),
    /// It was packed with a dictionary, which is not here.
    Dictionary,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.packing {
            Packing::Gzip => "gzip file",
            Packing::Zstd => "zstd file",
            Packing::Page => "exported page",
        };
        let at = self.at;
        match self.why {
            Why::Cut => write!(f, "the {name} is cut off after {at} bytes"),
            Why::Data => write!(f, "the {name} is damaged at byte {at}"),
            Why::Checksum => write!(
                f,
                "what the {name} holds before byte {at} does not match its checksum"
            ),
            Why::Rest => write!(f, "the {name} goes on with something else at byte {at}"),
            Why::Method(method) => write!(
                f,
                "the {name} is packed by method {method} at byte {at}, which is not known"
            ),
            Why::Window(n_bytes) => write!(
                f,
                "the {name} asks for {n_bytes} bytes of memory at byte {at}, which is too much"
            ),
            Why::Dictionary => write!(
                f,
                "the {name} needs a dictionary at byte {at}, which is not here"
            ),
        }
    }
}

impl std::error::Error for Damage {}
