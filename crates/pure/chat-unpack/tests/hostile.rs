//! Files made to hurt: little that unpacks to much, many that are empty, what never ends, and frames of all kinds after
//! each other.

use std::io::Write;
use std::time::{Duration, Instant};

use chat_unpack::{Damage, Head, Packing, Unpacker, Why};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Far above what is measured, far below what a quadratic way needs.
const BOUND: Duration = Duration::from_secs(20);

/// How many bytes come out, of at most `most`, and how it ended; each piece is small.
fn count(packed: &[u8], piece_bytes: usize, most: u64) -> (u64, Result<(), Damage>) {
    let Head::Packed(packing) = Head::of(packed) else {
        panic!("not packed");
    };
    let began = Instant::now();
    let mut unpacker = Unpacker::new(packing);
    let mut n_bytes = 0;
    let mut ended = Ok(());
    let mut drain = |unpacker: &mut Unpacker| loop {
        match unpacker.unpack() {
            Ok(Some(piece)) => {
                assert!(piece.len() <= 64 * 1024);
                n_bytes += piece.len() as u64;
                if n_bytes >= most {
                    return Ok(false);
                }
            }
            Ok(None) => return Ok(true),
            Err(why) => return Err(why),
        }
    };
    let mut goes_on = true;
    for piece in packed.chunks(piece_bytes) {
        unpacker.push(piece);
        match drain(&mut unpacker) {
            Ok(more) => goes_on = more,
            Err(why) => ended = Err(why),
        }
        if !goes_on || ended.is_err() {
            break;
        }
    }
    if goes_on && ended.is_ok() {
        ended = unpacker.finish();
        let _ = drain(&mut unpacker);
    }
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
    (n_bytes, ended)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

/// A frame of 8 MiB window with so many blocks of one byte, repeated 128 KiB times, and no end.
fn repeated(n_blocks: usize) -> Vec<u8> {
    let header = (128 * 1024_u32) << 3 | 1 << 1;
    let block = [&header.to_le_bytes()[..3], b"x"].concat();
    [b"\x28\xb5\x2f\xfd\x00\x68", &block.repeat(n_blocks)[..]].concat()
}

#[test]
fn little_that_unpacks_to_much_comes_out_piece_by_piece() {
    let packed = gzip(&vec![b'x'; 64 << 20]);
    assert!(packed.len() < 400_000);
    for piece_bytes in [1_000, usize::MAX] {
        assert_eq!(count(&packed, piece_bytes, u64::MAX), (64 << 20, Ok(())));
    }
    let packed = repeated(1_000);
    let (n_bytes, ended) = count(&packed, usize::MAX, u64::MAX);
    assert_eq!((n_bytes, ended.unwrap_err().why), (1_000 << 17, Why::Cut));
    // Whoever takes the pieces may stop.
    let (n_bytes, ended) = count(&repeated(200_000), usize::MAX, 10 << 20);
    assert!(n_bytes < 11 << 20 && ended.is_ok());
}

#[test]
fn many_empty_members_and_frames_are_passed_at_once() {
    let empty = gzip(b"");
    let packed = [&empty.repeat(20_000)[..], &gzip(b"end")].concat();
    assert_eq!(count(&packed, usize::MAX, u64::MAX), (3, Ok(())));
    let skipped = b"\x50\x2a\x4d\x18\0\0\0\0".repeat(300_000);
    assert_eq!(count(&skipped, usize::MAX, u64::MAX), (0, Ok(())));
    // One that skips more than there is.
    let (n_bytes, ended) = count(b"\x50\x2a\x4d\x18\xff\xff\xff\xffabc", 1, u64::MAX);
    assert_eq!((n_bytes, ended.unwrap_err().why), (0, Why::Cut));
}

#[test]
fn a_header_without_an_end_is_damage() {
    let mut packed = b"\x1f\x8b\x08\x08\0\0\0\0\0\x03".to_vec();
    packed.resize(4 << 20, b'n');
    let (n_bytes, ended) = count(&packed, 4_096, u64::MAX);
    assert_eq!((n_bytes, ended.unwrap_err().why), (0, Why::Data));
}

#[test]
fn a_header_is_too_long_or_not_however_it_is_cut() {
    const MOST: usize = 256 * 1024;
    for (n_bytes, is_too_long) in [(MOST, false), (MOST + 1, true), (MOST + 50_000, true)] {
        let name = vec![b'n'; n_bytes - 11];
        let mut packer = flate2::GzBuilder::new()
            .filename(name)
            .write(Vec::new(), Compression::fast());
        packer.write_all(b"text").unwrap();
        let packed = packer.finish().unwrap();
        for piece_bytes in [4_096, MOST + 7, usize::MAX] {
            let (n_bytes, ended) = count(&packed, piece_bytes, u64::MAX);
            let ended = ended.map_err(|damage| damage.why);
            match is_too_long {
                true => assert_eq!((n_bytes, ended), (0, Err(Why::Data))),
                false => assert_eq!((n_bytes, ended), (4, Ok(()))),
            }
        }
    }
}

#[test]
fn frames_with_and_without_a_checksum_follow_each_other() {
    let (without, with) = (
        &include_bytes!("packed/lines.1.zst")[..],
        &include_bytes!("packed/lines.19.zst")[..],
    );
    let (one, _) = count(with, usize::MAX, u64::MAX);
    for frames in [[with, without], [without, with]] {
        for piece_bytes in [7, usize::MAX] {
            let packed = frames.concat();
            assert_eq!(count(&packed, piece_bytes, u64::MAX), (2 * one, Ok(())));
        }
    }
}

#[test]
fn a_page_of_a_long_module_and_no_log_is_passed_in_bounded_time() {
    let module = "AAAA<script".repeat(1 << 20);
    let page = format!("<!DOCTYPE html>\n{module}");
    for piece_bytes in [64 * 1024, usize::MAX] {
        let (n_bytes, ended) = count(page.as_bytes(), piece_bytes, u64::MAX);
        assert_eq!((n_bytes, ended), (1024, Ok(())));
    }
    assert_eq!(Head::of(page.as_bytes()), Head::Packed(Packing::Page));
}
