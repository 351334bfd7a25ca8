//! Which file is which.

use super::FileMark;

fn mark(device: u64, inode: u64, born_ns: u64) -> FileMark {
    FileMark {
        device,
        inode,
        born_ns,
        bytes: 1,
        modified_ns: 2,
    }
}

#[test]
fn a_file_that_is_copied_up_by_the_first_write_to_it_is_still_the_one_that_was_opened() {
    let (below, above) = (mark(40, 6, 1), mark(40, 6, 2));
    assert!(below.is_same_file(above));
    assert!(!below.is_same_file(mark(40, 7, 1)) && !below.is_same_file(mark(41, 6, 1)));
}

#[test]
fn a_file_is_known_again_after_a_boot_by_its_node_and_its_birth_where_that_is_told() {
    let then = mark(40, 6, 1);
    // The number of its device says nothing.
    assert!(then.is_same_file_since(mark(41, 6, 1)));
    assert!(!then.is_same_file_since(mark(40, 6, 2)));
    assert!(!then.is_same_file_since(mark(40, 7, 1)));
    // One side may be of a version, or a file system, that has no birth to tell.
    for (then, now) in [(0, 0), (0, 1), (1, 0)] {
        let (then, now) = (mark(40, 6, then), mark(41, 6, now));
        assert!(then.is_same_file_since(now));
        assert!(!then.is_same_file_since(mark(40, 7, 0)));
    }
}
