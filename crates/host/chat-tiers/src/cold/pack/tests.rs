use super::*;

fn packed(bytes: &[u8]) -> (Digest, Vec<u8>) {
    let (sender, mut parts) = mpsc::channel(1024);
    let digest = pack(bytes, sender).unwrap();
    let mut packed = Vec::new();
    while let Ok(part) = parts.try_recv() {
        part.iter()
            .for_each(|piece| packed.extend_from_slice(piece));
    }
    (digest, packed)
}

fn unpacked(packed: &[u8], piece: usize, most: u64) -> Result<(Digest, Vec<u8>), NotUnpacked> {
    let (sender, pieces) = mpsc::channel(packed.len() + 1);
    for piece in packed.chunks(piece) {
        sender.try_send(piece.to_vec()).unwrap();
    }
    drop(sender);
    let mut bytes = Vec::new();
    let digest = unpack(pieces, &mut bytes, most)?;
    Ok((digest, bytes))
}

#[test]
fn what_is_packed_unpacks_to_the_same_however_it_is_cut_and_never_to_more_than_it_should() {
    let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    for bytes in [&bytes[..], &bytes[..1], &[]] {
        let (digest, packed) = packed(bytes);
        assert_eq!(digest.bytes, bytes.len() as u64);
        assert_eq!(digest.sha256, chat_store::sha256_hex(bytes));
        for piece in [1, 7, 64 * 1024] {
            let (found, back) = unpacked(&packed, piece, digest.bytes).unwrap();
            assert_eq!(found, digest);
            assert!(back == bytes);
        }
        assert!(unpacked(&packed[..packed.len() - 1], 7, digest.bytes).is_err());
        if !bytes.is_empty() {
            assert!(unpacked(&packed, 7, digest.bytes - 1).is_err());
        }
    }
}

#[test]
fn what_goes_on_behind_its_end_is_broken_and_a_disk_that_refuses_is_said_as_such() {
    let (digest, packed) = packed(b"a log");
    // Copied twice over itself, and with something behind it, as a whole and piece by piece.
    for behind in [&packed[..], b"x", &[0; 64]] {
        let more = [&packed, behind].concat();
        for piece in [1, 7, packed.len(), more.len()] {
            let found = unpacked(&more, piece, 1000);
            assert!(matches!(found, Err(NotUnpacked::Broken)), "{found:?}");
        }
    }
    let (sender, pieces) = mpsc::channel(1);
    sender.try_send(packed).unwrap();
    drop(sender);
    // It has room for two bytes.
    let mut full = [0; 2];
    let refused = unpack(pieces, &mut full[..], digest.bytes);
    assert!(
        matches!(refused, Err(NotUnpacked::Refused(_))),
        "{refused:?}"
    );
}

#[test]
fn beginnings_are_known_by_what_they_would_be_alone() {
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(3 * BLOCK_BYTES + 5).collect();
    let block = BLOCK_BYTES as u64;
    let lengths = [0, 1, block, block, block + 1, 3 * block + 5, 3 * block + 6];
    let (all, beginnings) = digest(&bytes[..], &lengths).unwrap();
    assert_eq!(all.sha256, chat_store::sha256_hex(&bytes));
    // Of the last one there is not enough.
    assert_eq!(beginnings.len(), lengths.len() - 1);
    for (beginning, length) in beginnings.iter().zip(lengths) {
        let alone = &bytes[..usize::try_from(length).unwrap()];
        assert_eq!(beginning.bytes, length);
        assert_eq!(beginning.sha256, chat_store::sha256_hex(alone));
    }
}
