//! CRC-32C (Castagnoli), the checksum of a log's lines.
//!
//! RFC 3720, appendix B.4 has the polynomial and the test vectors.

/// The polynomial 0x1EDC6F41, its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `TABLES[k][byte]`: the remainder of `byte` followed by `k` zero bytes. Eight of them let eight bytes go in one step.
static TABLES: [[u32; 256]; 8] = tables();

/// The CRC-32C of `bytes`.
///
/// ```
/// assert_eq!(chat_event::jsonl::crc32c(b"123456789"), 0xe306_9283);
/// ```
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word) ^ u64::from(crc);
        crc = 0;
        for (table, byte) in TABLES.iter().rev().zip(word.to_le_bytes()) {
            crc ^= table[usize::from(byte)];
        }
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc.to_le_bytes()[0] ^ byte)];
    }
    !crc
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0usize;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)]
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut zeros = 1usize;
    while zeros < 8 {
        let mut byte = 0usize;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn the_published_vectors_hold() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(&falling), 0x113f_db5c);
    }
}
