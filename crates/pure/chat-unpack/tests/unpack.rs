//! What was packed comes out, however it is cut; damage is told, after what could be read before it.

use std::io::Write;

use chat_unpack::{Damage, Head, Packing, Unpacker, Why};
use flate2::{Compression, GzBuilder};
use proptest::prelude::*;

/// What `tests/packed/lines.*` hold: `gzip -9`, `zstd -1 --no-check` and `zstd -19 --long=24` of it (zstd 1.5).
fn lines() -> Vec<u8> {
    let line = |n: u64| format!("line {n}: the quick brown fox {}\n", n * n % 977);
    (0..3000).map(line).collect::<String>().into_bytes()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = GzBuilder::new()
        .filename("session.jsonl")
        .comment("a log")
        .extra(vec![7; 300])
        .write(Vec::new(), Compression::default());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

fn pack(packing: Packing, text: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Gzip => gzip(text),
        Packing::Zstd => zstd(text),
        Packing::Page => page(text, 300),
    }
}

/// All that comes out, and how it ended.
fn unpack(packed: &[u8], piece_bytes: usize) -> (Vec<u8>, Result<(), Damage>) {
    let Head::Packed(packing) = Head::of(packed) else {
        return (packed.to_vec(), Ok(()));
    };
    let mut unpacker = Unpacker::new(packing);
    let mut text = Vec::new();
    let mut drain = |unpacker: &mut Unpacker| loop {
        match unpacker.unpack() {
            Ok(Some(unpacked)) => {
                assert!((1..=64 * 1024).contains(&unpacked.len()));
                text.extend_from_slice(unpacked);
            }
            Ok(None) => return Ok(()),
            Err(why) => return Err(why),
        }
    };
    let mut ended = Ok(());
    for piece in packed.chunks(piece_bytes.max(1)) {
        unpacker.push(piece);
        ended = drain(&mut unpacker);
        if ended.is_err() {
            break;
        }
    }
    if ended.is_ok() {
        ended = unpacker.finish();
        let left = drain(&mut unpacker);
        assert_eq!(left, ended, "the damage stays");
    }
    (text, ended)
}

fn packings() -> impl Strategy<Value = Packing> {
    prop_oneof![Just(Packing::Gzip), Just(Packing::Zstd)]
}

proptest! {
    #[test]
    fn members_and_frames_come_out_whole_however_they_are_cut(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 1..5),
        n_repeats in 1..80_usize, piece_bytes in 1..5000_usize, packing in packings(),
    ) {
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.repeat(n_repeats)).collect();
        let packed = texts.iter().map(|text| pack(packing, text)).collect::<Vec<_>>().concat();
        let (text, ended) = unpack(&packed, piece_bytes);
        prop_assert_eq!(ended, Ok(()));
        prop_assert!(text == texts.concat());
    }

    #[test]
    fn what_is_cut_off_gives_its_beginning_and_says_where(
        seed in any::<u8>(), cut in any::<prop::sample::Index>(), piece_bytes in 1..5000_usize, packing in packings(),
    ) {
        let text: Vec<u8> = lines().into_iter().map(|byte| byte ^ (seed & 3)).collect();
        let packed = pack(packing, &text);
        let cut = 4 + cut.index(packed.len() - 4);
        let (unpacked, ended) = unpack(&packed[..cut], piece_bytes);
        prop_assert_eq!(ended, Err(Damage { packing, at: cut as u64, why: Why::Cut }));
        prop_assert!(text.starts_with(&unpacked));
        // All but the last piece of the packed data was of use.
        prop_assert!(packing != Packing::Gzip || unpacked.len() + 40_000 > text.len() * cut.saturating_sub(400) / packed.len());
    }

    #[test]
    fn damage_is_no_text_and_no_panic(
        at in any::<prop::sample::Index>(), noise in 1..=u8::MAX, piece_bytes in 1..5000_usize,
        packed in prop_oneof![
            Just(&include_bytes!("packed/lines.gz")[..]),
            Just(&include_bytes!("packed/lines.19.zst")[..]),
        ],
    ) {
        let mut packed = packed.to_vec();
        let at = 4 + at.index(packed.len() - 4);
        packed[at] ^= noise;
        let (unpacked, ended) = unpack(&packed, piece_bytes);
        // Time, name and system stand in a header; nobody checks them.
        if let Err(why) = ended {
            prop_assert!(why.at <= packed.len() as u64);
        } else {
            prop_assert!(unpacked == lines());
        }
    }

    #[test]
    fn all_that_was_packed_before_damage_comes_out_however_it_is_cut(
        blocks in prop::collection::vec(0..50_000_u16, 0..10),
        // As much as one call unpacks, and less.
        piece_bytes in prop_oneof![1..5000_usize, 65_536..110_000_usize, Just(usize::MAX)],
    ) {
        // Blocks that are stored as they are, and one of a kind that there is not: RFC 1951, section 3.2.3.
        let mut text = lines().repeat(4);
        text.truncate(blocks.iter().copied().map(usize::from).sum());
        let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
        let mut rest = &text[..];
        for n_bytes in blocks {
            let (block, behind) = rest.split_at(n_bytes.into());
            packed.extend([&[0][..], &n_bytes.to_le_bytes(), &(!n_bytes).to_le_bytes(), block].concat());
            rest = behind;
        }
        packed.extend([7; 100]);
        let (unpacked, ended) = unpack(&packed, piece_bytes);
        prop_assert_eq!(ended.map_err(|damage| damage.why), Err(Why::Data));
        prop_assert_eq!(unpacked.len(), text.len());
        prop_assert!(unpacked == text);
    }

    #[test]
    fn any_bytes_end(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
        packing in prop_oneof![packings(), Just(Packing::Page)], piece_bytes in 1..200_usize,
    ) {
        let magic: &[u8] = match packing {
            Packing::Gzip => b"\x1f\x8b\x08\x00",
            Packing::Zstd => b"\x28\xb5\x2f\xfd",
            Packing::Page => b"<!DOCTYPE html><script type=\"text/plain\" data-part=\"log\">",
        };
        let (_, ended) = unpack(&[magic, &bytes].concat(), piece_bytes);
        let _ = ended;
    }
}

#[test]
fn what_the_programs_write_is_unpacked() {
    for packed in [
        &include_bytes!("packed/lines.gz")[..],
        include_bytes!("packed/lines.1.zst"),
        include_bytes!("packed/lines.19.zst"),
    ] {
        for piece_bytes in [1, 1000, usize::MAX] {
            assert_eq!(unpack(packed, piece_bytes), (lines(), Ok(())));
        }
    }
}

#[test]
fn what_was_unpacked_of_a_broken_frame_comes_out() {
    // The window is larger than the text, so that nothing comes out before the end.
    let packed = include_bytes!("packed/lines.19.zst");
    let whole = packed.len();
    let mut damaged = [&packed[..], packed].concat();
    damaged.truncate(whole * 2 - 5);
    let (text, ended) = unpack(&damaged, 1000);
    let why = ended.unwrap_err();
    assert_eq!((why.why, why.at), (Why::Cut, damaged.len() as u64));
    assert!(text.len() >= lines().len());
    // Two blocks of 128 KiB and a cut within the next one.
    let random: Vec<u8> = (0..400_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let packed = zstd(&random);
    let (text, ended) = unpack(&packed[..packed.len() * 4 / 5], usize::MAX);
    assert_eq!(ended.unwrap_err().why, Why::Cut);
    assert!(
        text.len() > 200_000 && random.starts_with(&text),
        "{}",
        text.len()
    );
}

#[test]
fn each_damage_is_told_by_its_name() {
    let with = |packed: &[u8], at: usize, byte: u8| {
        let mut packed = packed.to_vec();
        packed[at] = byte;
        unpack(&packed, usize::MAX).1.unwrap_err().to_string()
    };
    let packed = gzip(&lines());
    let n_bytes = packed.len();
    assert_eq!(
        with(&packed, 2, 9),
        "the gzip file is packed by method 9 at byte 0, which is not known"
    );
    assert_eq!(
        with(&packed, n_bytes - 8, !packed[n_bytes - 8]),
        format!("what the gzip file holds before byte {n_bytes} does not match its checksum")
    );
    let more = [&packed[..], b"\0\0\0rest"].concat();
    let (text, ended) = unpack(&more, 10);
    assert_eq!(text, lines());
    assert_eq!(
        ended.unwrap_err().to_string(),
        format!(
            "the gzip file goes on with something else at byte {}",
            n_bytes + 3
        )
    );
    let padded = [&packed[..], &[0; 1000], &packed].concat();
    assert_eq!(unpack(&padded, 77).0.len(), lines().len() * 2);

    let packed = include_bytes!("packed/lines.19.zst");
    let skipped = [b"\x50\x2a\x4d\x18\x03\0\0\0abc", &packed[..]].concat();
    assert_eq!(unpack(&skipped, 2), (lines(), Ok(())));
    // A window of 2 GiB, and a dictionary.
    let (_, ended) = unpack(b"\x28\xb5\x2f\xfd\x00\xa8\x01\0\0", 3);
    assert_eq!(ended.unwrap_err().why, Why::Window(1 << 31));
    let (_, ended) = unpack(b"\x28\xb5\x2f\xfd\x01\x00\x07\x01\0\0", 3);
    assert_eq!(ended.unwrap_err().why, Why::Dictionary);
    assert_eq!(
        with(packed, packed.len() - 1, !packed[packed.len() - 1]),
        format!(
            "what the zstd file holds before byte {} does not match its checksum",
            packed.len()
        )
    );
}

#[test]
fn what_is_not_packed_is_left_alone() {
    for (bytes, head) in [
        (&b""[..], Head::Unsure),
        (b"\x1f", Head::Unsure),
        (b"\x28\xb5", Head::Unsure),
        (b"\x5f\x2a\x4d", Head::Unsure),
        (b"\x5f\x2a\x4d\x18", Head::Packed(Packing::Zstd)),
        (b"(abc", Head::Plain),
        (b"{", Head::Plain),
        (b"P*M", Head::Unsure),
        (b"P*M!", Head::Plain),
        (b"\x1f\x8b", Head::Packed(Packing::Gzip)),
        (b"<!DOC", Head::Unsure),
        (b"<!DOCTYPE html>\n", Head::Packed(Packing::Page)),
        (b"<!DOCTYPE svg>\n", Head::Plain),
    ] {
        assert_eq!(Head::of(bytes), head, "{bytes:?}");
    }
}

/// A page as it is exported, with its log in elements of so many packed bytes.
fn page(text: &[u8], piece_bytes: usize) -> Vec<u8> {
    const CHARS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64 = |bytes: &[u8]| -> String {
        let groups = bytes.chunks(3).map(|group| {
            let number = (0..3).fold(0_u32, |number, at| {
                number << 8 | u32::from(group.get(at).copied().unwrap_or(0))
            });
            let chars = (0..4).map(|at| match at <= group.len() {
                true => char::from(CHARS[(number >> (18 - 6 * at)) as usize & 63]),
                false => '=',
            });
            chars.collect::<String>()
        });
        groups.collect()
    };
    let mut page =
        b"<!DOCTYPE html>\n<html lang=\"en\">\n<script type=\"text/plain\" data-part=\"module\">\
        AAAA</script>\n<script>const part = document.querySelector('[data-part=log]');</script>\n"
            .to_vec();
    for piece in gzip(text).chunks(piece_bytes) {
        let piece = base64(piece);
        page.extend_from_slice(
            format!("<script type=\"text/plain\" data-part=\"log\">{piece}</script>\n").as_bytes(),
        );
    }
    page.extend_from_slice(b"</body>\n</html>\n");
    page
}

#[test]
fn the_log_of_an_exported_page_comes_out_however_it_is_cut() {
    for (log_bytes, piece_bytes) in [(1, 1), (7, 64), (1000, 1000), (300, usize::MAX)] {
        // The last element need not be of whole groups of three bytes.
        let page = page(&lines(), log_bytes * 3);
        assert_eq!(unpack(&page, piece_bytes), (lines(), Ok(())));
    }
    let page = page(&lines(), 300);
    let cut = page.len() * 2 / 3;
    let (text, ended) = unpack(&page[..cut], 1000);
    let told = format!("the exported page is cut off after {cut} bytes");
    assert_eq!(ended.unwrap_err().to_string(), told);
    assert!(text.len() > 10_000 && lines().starts_with(&text));
    let mut damaged = page.clone();
    damaged[cut] = b'!';
    let (text, ended) = unpack(&damaged, 1000);
    let why = ended.unwrap_err();
    assert_eq!((why.packing, why.why), (Packing::Page, Why::Data));
    assert!(text.len() > 10_000 && lines().starts_with(&text));
}

#[test]
fn of_a_page_without_a_log_its_beginning_comes_out() {
    for n_repeats in [0, 1, 5000] {
        let rest = "<p>A page of somebody else's.</p>\n".repeat(n_repeats);
        let page = format!("<!DOCTYPE html>\n{rest}").into_bytes();
        for piece_bytes in [1, 100, usize::MAX] {
            let (text, ended) = unpack(&page, piece_bytes);
            assert_eq!(ended, Ok(()));
            assert_eq!(text, page[..page.len().min(1024)]);
        }
    }
}
