//! Removing bodies that no copy of any session names.
//!
//! Bodies are those of all sessions: one goes where no manifest of another names it, which takes reading all of them, so that it
//! is done for many together, and no copy is made here meanwhile. Another program that writes to the same store is held up by
//! nothing: a body is put aside before it goes, and put back where a manifest that came meanwhile names it. Who names it later
//! looks itself whether all is there that it named (`put`). What was put aside when all was stopped is looked at by the next call,
//! also where that is for no body: then it costs one question, as long as nothing is aside. What is aside and in its place at
//! once was put aside by who will delete it there next: such a one is left to them for a while.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chat_store::now_ms;
use futures_util::StreamExt;
use object_store::ObjectMeta;
use object_store::path::Path;

use super::super::{Cold, MANIFEST_BYTES};
use super::RemovedCopies;
use crate::error::Error;

/// Manifests that are asked for beside each other.
const BESIDE: usize = 16;

/// Who puts a body aside has deleted it in its place by then, or was stopped.
const AT_IT_MS: i64 = 60 * 60 * 1000;

impl Cold {
    /// Removes those of the bodies that no copy of any session names; how many of them, and what they had.
    ///
    /// # Errors
    ///
    /// Where the store is away or refuses, or a manifest cannot be read: nobody knows what that names, and none goes.
    pub async fn remove_bodies(&self, bodies: &BTreeSet<String>) -> Result<RemovedCopies, Error> {
        // Who makes a copy finds bodies that are there, and names them later.
        let _alone = self.removing.copying.write().await;
        let mut aside = self.aside().await?;
        let mut of_others = self.half_aside(&aside).await?;
        of_others.retain(|sha256| !bodies.contains(sha256));
        let mut removed = RemovedCopies {
            later: of_others.len() as u64,
            ..RemovedCopies::default()
        };
        let mut left: BTreeSet<String> = bodies.iter().chain(aside.keys()).cloned().collect();
        left.retain(|sha256| !of_others.contains(sha256));
        aside.retain(|sha256, _| !of_others.contains(sha256));
        let aside: BTreeSet<String> = aside.into_keys().collect();
        if left.is_empty() {
            return Ok(removed);
        }
        let mut seen = HashSet::new();
        while !left.is_empty() && self.leave_named_anew(&mut seen, &mut left).await? {}
        self.put_back(aside.difference(&left)).await?;
        let gone = self.put_aside(&left).await?;
        let mut unnamed = left.clone();
        self.leave_named_anew(&mut seen, &mut unnamed).await?;
        self.put_back(left.difference(&unnamed)).await?;
        for (sha256, bytes) in gone.iter().filter(|(sha256, _)| unnamed.contains(sha256)) {
            self.delete_aside(sha256).await?;
            removed.objects += 1;
            removed.bytes += bytes;
        }
        for sha256 in aside.intersection(&unnamed) {
            self.delete_aside(sha256).await?;
        }
        Ok(removed)
    }

    /// Leaves out bodies that manifests name which were not looked at; whether there were such.
    pub(in crate::cold) async fn leave_named_anew(
        &self,
        seen: &mut HashSet<Path>,
        left: &mut BTreeSet<String>,
    ) -> Result<bool, Error> {
        let mut new = self.manifests().await?;
        new.retain(|key| seen.insert(key.clone()));
        let is_any = !new.is_empty();
        self.leave_named(new, left).await?;
        Ok(is_any)
    }

    /// The bodies that are put aside, and when they were, in milliseconds since 1970.
    pub(in crate::cold) async fn aside(&self) -> Result<BTreeMap<String, i64>, Error> {
        let mut aside = BTreeMap::new();
        let mut note = |object: &ObjectMeta| {
            let sha256 = self.keys.sha256_removed(&object.location);
            let since_ms = object.last_modified.timestamp_millis();
            aside.extend(sha256.map(|sha256| (sha256.to_owned(), since_ms)));
        };
        self.objects.each(&self.keys.removing(), &mut note).await?;
        Ok(aside)
    }

    /// Those of the bodies that another is putting aside just now.
    async fn half_aside(&self, aside: &BTreeMap<String, i64>) -> Result<BTreeSet<String>, Error> {
        let latest_ms = now_ms().saturating_sub(AT_IT_MS);
        let mut half = BTreeSet::new();
        for (sha256, _) in aside.iter().filter(|(_, since_ms)| **since_ms > latest_ms) {
            if self.objects.is_there(&self.keys.blob(sha256)).await? {
                half.insert(sha256.clone());
            }
        }
        Ok(half)
    }

    /// Puts bodies aside; those that were there, and what they had.
    pub(in crate::cold) async fn put_aside(
        &self,
        bodies: &BTreeSet<String>,
    ) -> Result<Vec<(String, u64)>, Error> {
        let mut gone = Vec::new();
        for sha256 in bodies {
            let key = self.keys.blob(sha256);
            let Some(bytes) = self.objects.length(&key).await? else {
                continue;
            };
            let aside = self.keys.removed_blob(sha256);
            if self.objects.copy(&key, &aside).await? {
                self.objects.delete(&key).await?;
                gone.push((sha256.clone(), bytes));
            }
        }
        Ok(gone)
    }

    /// Puts bodies back that were put aside: somebody names them.
    pub(in crate::cold) async fn put_back(
        &self,
        bodies: impl Iterator<Item = &String>,
    ) -> Result<(), Error> {
        for sha256 in bodies {
            let (key, aside) = (self.keys.blob(sha256), self.keys.removed_blob(sha256));
            if !self.objects.is_there(&key).await? {
                self.objects.copy(&aside, &key).await?;
            }
            self.objects.delete(&aside).await?;
        }
        Ok(())
    }

    async fn delete_aside(&self, sha256: &str) -> Result<(), Error> {
        self.objects.delete(&self.keys.removed_blob(sha256)).await
    }

    /// The keys of all manifests there are.
    async fn manifests(&self) -> Result<Vec<Path>, Error> {
        let mut keys = Vec::new();
        let mut note = |object: &ObjectMeta| {
            if self.keys.version(object.location.as_ref()).is_some() {
                keys.push(object.location.clone());
            }
        };
        self.objects.each(&self.keys.sessions(), &mut note).await?;
        Ok(keys)
    }

    /// Leaves out those that one of these manifests has anywhere in it.
    async fn leave_named(
        &self,
        manifests: Vec<Path>,
        left: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let asked = manifests.into_iter().map(|key| async move {
            let text = self.objects.get_small(&key, MANIFEST_BYTES).await?;
            match text {
                Some(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
                // One that went meanwhile names nothing; one that is too long is none of ours.
                None if self.objects.is_there(&key).await? => {
                    Err(self.damaged("read a manifest", &key))
                }
                None => Ok(String::new()),
            }
        });
        let mut asked = futures_util::stream::iter(asked).buffer_unordered(BESIDE);
        while let Some(text) = asked.next().await {
            let text = text?;
            left.retain(|sha256| !text.contains(sha256.as_str()));
            if left.is_empty() {
                break;
            }
        }
        Ok(())
    }
}
