//! What a log tells of itself.

use crate::schema::payload_struct;

payload_struct! {
    /// The first line of a log.
    LogStart {
        /// The schema's version.
        schema: u64 = "schema" default,
        /// The log's epoch.
        epoch: String = "epoch" default,
        /// What wrote it.
        writer: Option<String> = "writer" optional,
    }
}

payload_struct! {
    /// From here on another epoch counts.
    LogEpoch {
        /// The new epoch.
        epoch: String = "epoch" default,
        /// The last `seq` before it.
        base: u64 = "base" default,
        /// Why it began, in words.
        why: String = "why" default,
    }
}

payload_struct! {
    /// Events are missing for good.
    LogGap {
        /// The first missing `seq`.
        from: u64 = "from" default,
        /// The last missing `seq`.
        to: u64 = "to" default,
        /// Why they are missing, in words.
        why: String = "why" default,
    }
}

impl LogGap {
    /// How many events are missing. None are where a write was torn before anybody was told that it is kept: its range
    /// ends before it begins.
    ///
    /// ```
    /// use chat_event::payload::LogGap;
    ///
    /// let lost = LogGap { from: 3, to: 4, ..LogGap::default() };
    /// let torn = LogGap { from: 5, to: 4, ..LogGap::default() };
    /// assert_eq!((lost.n_missing(), torn.n_missing()), (2, 0));
    /// ```
    pub fn n_missing(&self) -> u64 {
        self.to
            .checked_sub(self.from)
            .map_or(0, |more| more.saturating_add(1))
    }
}

payload_struct! {
    /// The log was closed.
    LogEnd {
        /// Whether on purpose.
        clean: bool = "clean" default,
    }
}
