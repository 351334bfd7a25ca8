//! The first bytes of a picture: which format it is, and how many pixels it has.

use super::Picture;

/// So much base64 is looked at: what cameras write before a JPEG's size is shorter.
const MOST_CHARS: usize = 96 * 1024;

/// The bytes that the beginning of some base64 stands for, up to the first character that is none. It may stand in lines, as
/// mail has it.
pub(super) fn decoded(base64: &str) -> Vec<u8> {
    let sextet = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::new();
    let (mut held, mut n_bits) = (0u32, 0u32);
    let chars = base64.bytes().take(MOST_CHARS);
    let chars = chars.filter(|byte| !matches!(byte, b'\r' | b'\n'));
    for sextet in chars.map_while(sextet) {
        held = (held << 6 | u32::from(sextet)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            // Its lowest byte is what is meant.
            #[allow(clippy::cast_possible_truncation)]
            bytes.push((held >> n_bits) as u8);
        }
    }
    bytes
}

/// The bytes that all of some base64 stands for, without what fills its end; `None` where some of it is none.
pub(super) fn all_decoded(base64: &str) -> Option<Vec<u8>> {
    let n_chars = base64.len();
    let chunks = base64.as_bytes().chunks(MOST_CHARS);
    let mut bytes = Vec::with_capacity(n_chars / 4 * 3 + 3);
    for chunk in chunks {
        // A chunk is of whole fours, and so is what it stands for.
        let part = decoded(std::str::from_utf8(chunk).ok()?);
        if part.len() != chunk.len() * 6 / 8 {
            return None;
        }
        bytes.extend(part);
    }
    Some(bytes)
}

/// What the bytes begin.
pub(super) fn read(bytes: &[u8]) -> Option<Picture> {
    let (media_type, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("image/png", png_size(bytes))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        let size = little(bytes, 6, 2).zip(little(bytes, 8, 2));
        ("image/gif", size)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        ("image/webp", webp_size(bytes))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        ("image/jpeg", jpeg_size(bytes))
    } else {
        return None;
    };
    Some(Picture { media_type, size })
}

fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    big(bytes, 16, 4).zip(big(bytes, 20, 4))
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((
            little(bytes, 26, 2)? & 0x3fff,
            little(bytes, 28, 2)? & 0x3fff,
        )),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

/// Goes from segment to segment until one says how large the picture is.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        // Any number of these may stand before a marker.
        while bytes.get(at)? == &0xff && bytes.get(at + 1)? == &0xff {
            at += 1;
        }
        if bytes.get(at)? != &0xff {
            return None;
        }
        match bytes.get(at + 1)? {
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return big(bytes, at + 7, 2).zip(big(bytes, at + 5, 2));
            }
            // The picture itself begins, or ends.
            0xd9 | 0xda => return None,
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => at += 2 + usize::try_from(big(bytes, at + 2, 2)?).ok()?.max(2),
        }
    }
}

fn big(bytes: &[u8], at: usize, len: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().fold(0, |n, byte| n << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, len: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    let n = bytes.iter().rev();
    Some(n.fold(0, |n, byte| n << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_every_format() {
        let png = [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x20"[..],
            &[8, 2],
        ]
        .concat();
        let lossy = b"RIFF....WEBPVP8 ....\x30\0\0\x9d\x01\x2a\x10\0\x20\0";
        let extended = b"RIFF....WEBPVP8X....\0\0\0\0\x0f\0\0\x1f\0\0";
        let lossless = b"RIFF....WEBPVP8L....\x2f\x0f\xc0\x07\0";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\0\x20\0\x10\x03";
        let size = |bytes: &[u8]| read(bytes).map(|picture| (picture.media_type, picture.size));
        assert_eq!(size(&png), Some(("image/png", Some((256, 32)))));
        let webp = Some(("image/webp", Some((16, 32))));
        assert_eq!([size(lossy), size(extended), size(lossless)], [webp; 3]);
        assert_eq!(size(jpeg), Some(("image/jpeg", Some((16, 32)))));
        for cut in 0..jpeg.len() {
            let _ = read(&jpeg[..cut]);
        }
        assert_eq!(size(b"<svg xmlns='http://www.w3.org/2000/svg'>"), None);
    }

    #[test]
    fn base64_ends_where_it_is_none() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("aGVs bG8"), b"hel");
        assert_eq!(decoded("aGVs\r\nbG8=\n"), b"hello");
        assert_eq!(decoded("\u{e9}"), b"");
    }
}
