//! Sound that a log holds: what its first bytes say it is, and the pieces of a spoken answer as one.

use super::{MOST_BYTES, address, bare, header};

/// Sound that browsers play, as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound {
    /// `audio/wav`, `audio/mpeg`, `audio/ogg`, `audio/flac`, `audio/aac`, `audio/mp4` or `audio/webm`.
    pub media_type: &'static str,
}

impl Sound {
    /// What the beginning of some base64 is; `None` where it is no sound, or none that is known.
    ///
    /// ```
    /// use chat_feed::media::Sound;
    /// assert_eq!(Sound::of("UklGRiQAAABXQVZFZm10IA==").unwrap().media_type, "audio/wav");
    /// assert_eq!(Sound::of("PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"), None);
    /// ```
    pub fn of(data: &str) -> Option<Sound> {
        let data = bare(data);
        let beginning = data.get(..64).unwrap_or(data);
        let media_type = media_type(&header::decoded(beginning))?;
        Some(Sound { media_type })
    }

    /// The address of sound whose data is all here; `None` where it is not to be played.
    pub fn address(data: &str) -> Option<String> {
        address(Sound::of(data)?.media_type, bare(data))
    }

    /// What the pieces of a spoken answer are, as [`Feed::sound`](crate::Feed::sound) tells them; `None` where some of the
    /// `n_pieces` are missing, or it is no sound. Nothing is decoded but the beginning.
    pub fn of_pieces(pieces: &str, n_pieces: u32) -> Option<Sound> {
        let mut beginning = Vec::new();
        for data in in_order(pieces, n_pieces)? {
            beginning.extend(header::decoded(data.get(..64).unwrap_or(data)));
            if beginning.len() >= 48 {
                break;
            }
        }
        let media_type = media_type(&beginning)?;
        Some(Sound { media_type })
    }

    /// The same pieces as one base64 text; `None` where some are missing, or are no base64.
    pub fn joined(pieces: &str, n_pieces: u32) -> Option<String> {
        let known = in_order(pieces, n_pieces)?;
        if let [data] = known.as_slice() {
            return Some((*data).to_owned());
        }
        let mut bytes = Vec::new();
        for data in known {
            let data = data.trim_end_matches('=');
            let piece = header::all_decoded(data)?;
            bytes.extend_from_slice(&piece);
        }
        (bytes.len() as u64 <= MOST_BYTES).then(|| encoded(&bytes))
    }
}

/// The data of all pieces, by their numbers; those of the same number in the order they came. `None` where some are missing.
fn in_order(pieces: &str, n_pieces: u32) -> Option<Vec<&str>> {
    let mut known: Vec<(u64, &str)> = Vec::new();
    for line in pieces.lines() {
        let (seq, data) = line.split_once(' ')?;
        known.push((seq.parse().ok()?, bare(data)));
    }
    if known.is_empty() || known.len() != n_pieces as usize {
        return None;
    }
    known.sort_by_key(|(seq, _)| *seq);
    Some(known.into_iter().map(|(_, data)| data).collect())
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let starts = |with: &[u8]| bytes.starts_with(with);
    if starts(b"RIFF") && bytes.get(8..12) == Some(b"WAVE") {
        Some("audio/wav")
    } else if starts(b"OggS") {
        Some("audio/ogg")
    } else if starts(b"fLaC") {
        Some("audio/flac")
    } else if starts(b"ID3") {
        Some("audio/mpeg")
    } else if bytes.get(4..8) == Some(b"ftyp") && bytes.get(8..11) == Some(b"M4A") {
        Some("audio/mp4")
    } else if starts(b"\x1a\x45\xdf\xa3") {
        Some("audio/webm")
    } else {
        // A frame: eleven bits set, then version and layer. Layer III is MP3, and layer 0 the frame of AAC (ADTS).
        match bytes {
            [0xff, 0xf0 | 0xf1 | 0xf8 | 0xf9, ..] => Some("audio/aac"),
            [0xff, 0xe2 | 0xe3 | 0xf2 | 0xf3 | 0xfa | 0xfb, ..] => Some("audio/mpeg"),
            _ => None,
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let sextet = bits >> (18 - 6 * at) & 0x3f;
            match at <= three.len() {
                true => text.push(char::from(ALPHABET[sextet as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sound_is_what_its_first_bytes_say() {
        let of = |bytes: &[u8]| Sound::of(&encoded(bytes)).map(|sound| sound.media_type);
        assert_eq!(of(b"RIFF\x24\0\0\0WAVEfmt "), Some("audio/wav"));
        assert_eq!(of(b"RIFF\x24\0\0\0WEBPVP8 "), None);
        assert_eq!(of(b"OggS\0\x02"), Some("audio/ogg"));
        assert_eq!(of(b"ID3\x04\0"), Some("audio/mpeg"));
        assert_eq!(of(b"\xff\xfb\x90\x64"), Some("audio/mpeg"));
        assert_eq!(of(b"\xff\xf1\x50\x80"), Some("audio/aac"));
        assert_eq!(of(b"\0\0\0\x20ftypM4A "), Some("audio/mp4"));
        // A JPEG, text in UTF-16, and nothing.
        assert_eq!(
            [of(b"\xff\xd8\xff\xe0"), of(b"\xff\xfe<\0"), of(b"")],
            [None; 3]
        );
    }

    #[test]
    fn an_address_is_made_of_base64_alone() {
        let data = encoded(b"OggS and the rest");
        let address = Sound::address(&data).unwrap();
        assert_eq!(address, format!("data:audio/ogg;base64,{data}"));
        assert_eq!(
            Sound::address(&format!("data:text/html;base64,{data}")),
            Some(address)
        );
        assert_eq!(Sound::address(&format!("{data}\" onerror=")), None);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_are_the_sound_they_were_cut_from(
            bytes in prop::collection::vec(any::<u8>(), 1..200),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            missing in any::<bool>(),
        ) {
            let bytes = [b"OggS", bytes.as_slice()].concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            cuts.dedup();
            let mut lines: Vec<String> = cuts
                .windows(2)
                .enumerate()
                .map(|(seq, cut)| format!("{seq} {}\n", encoded(&bytes[cut[0]..cut[1]])))
                .collect();
            lines.reverse();
            let n_pieces = u32::try_from(lines.len()).unwrap();
            prop_assert_eq!(Sound::joined(&lines.concat(), n_pieces), Some(encoded(&bytes)));
            let sound = Sound::of_pieces(&lines.concat(), n_pieces);
            prop_assert_eq!(sound.map(|sound| sound.media_type), Some("audio/ogg"));
            if missing {
                lines.pop();
                prop_assert_eq!(Sound::of_pieces(&lines.concat(), n_pieces), None);
                prop_assert_eq!(Sound::joined(&lines.concat(), n_pieces), None);
            }
        }

        #[test]
        fn any_pieces_are_taken(text in any::<String>(), n_pieces in 0..4_u32) {
            let _ = Sound::joined(&text, n_pieces);
            let _ = Sound::of_pieces(&text, n_pieces);
            let _ = Sound::address(&text);
        }
    }
}
