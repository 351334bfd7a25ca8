//! How deep a JSON text nests, without building anything.

/// Whether `text` opens more than `limit` arrays and objects within each other.
pub fn exceeds(text: &str, limit: usize) -> bool {
    // Most texts have fewer brackets than the limit, and counting those is cheaper than following the strings.
    let n_openings: usize = text
        .as_bytes()
        .chunks(128)
        .map(|chunk| usize::from(chunk.iter().map(opening).sum::<u8>()))
        .sum();
    if n_openings <= limit {
        return false;
    }
    let mut depth = 0usize;
    let mut inside = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => inside = !inside,
            b'\\' if inside => {
                bytes.next();
            }
            b'[' | b'{' if !inside => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// 1 for `[` and `{`, which differ in one bit; summed in bytes, many go in one step.
fn opening(byte: &u8) -> u8 {
    u8::from(byte | 0x20 == b'{')
}
