//! The hues of agents that write to each other.

/// The session's own agent has this one to itself.
const MAIN: u8 = 1;

/// What there is for others.
const OTHERS: [u8; 2] = [2, 3];

/// Which agents have a hue to themselves: no more than there are hues.
#[derive(Clone, Debug, Default)]
pub(super) struct Hues {
    taken: Vec<(Box<str>, u8)>,
}
chat_event::pack_fields!(Hues { taken });

impl Hues {
    /// An agent's hue: the one that its name has in every session, or the next where another agent has that. Once all
    /// are taken, it may share one.
    pub(super) fn of(&mut self, name: &str) -> u8 {
        if name == "main" {
            return MAIN;
        }
        let taken = &mut self.taken;
        if let Some((_, hue)) = taken.iter().find(|(known, _)| **known == *name) {
            return *hue;
        }
        let sum = name.bytes().fold(7_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        let mut hues = OTHERS;
        hues.rotate_left(sum as usize % OTHERS.len());
        let is_free = |hue: &&u8| taken.iter().all(|(_, taken)| taken != *hue);
        match hues.iter().find(is_free) {
            // Who has no name takes none from others.
            Some(&hue) if !name.is_empty() => {
                taken.push((name.into(), hue));
                hue
            }
            _ => hues[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hues;

    #[test]
    fn agents_differ_as_long_as_there_are_hues() {
        let names = || (0..40).map(|n| format!("agent {n}"));
        let alone = |name: &str| Hues::default().of(name);
        assert!(names().any(|name| alone(&name) == 2) && names().any(|name| alone(&name) == 3));
        for first in names() {
            for second in names().filter(|second| *second != first) {
                let mut hues = Hues::default();
                assert_eq!(hues.of(""), alone(""));
                assert_eq!(hues.of(&first), alone(&first));
                assert_eq!(hues.of(&second), 5 - alone(&first), "{first}, {second}");
                // None are left: it keeps the one of its name, and takes none.
                assert_eq!(hues.of("third"), alone("third"));
                assert_eq!(hues.of("main"), 1);
                assert_eq!(hues.of(&first), alone(&first));
                assert_eq!(hues.of(&second), 5 - alone(&first));
                assert_eq!(hues.taken.len(), 2);
            }
        }
    }
}
