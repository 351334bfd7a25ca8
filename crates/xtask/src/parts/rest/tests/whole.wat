;; What `tests.rs` cuts. The first global is the stack's end, the first table that of functions: its first segment is the
;; linker's, the second the splitter's.
(module
  (type $two (func (param i32 i32) (result i32)))
  (import "env" "twice" (func $twice (param i32) (result i32)))
  (table $functions 8 8 funcref)
  (table $own 2 2 externref)
  (memory (export "memory") 1)
  (global $stack (mut i32) (i32.const 4096))
  (global $counter (mut i32) (i32.const 0))
  (export "__indirect_function_table" (table $functions))
  (export "__wasm_split_shared0" (global $stack))
  (export "sum" (func $sum))
  (export "choose" (func $choose))
  (export "early" (func $early))
  (export "deep" (func $deep))
  (export "carried" (func $carried))
  (export "through" (func $through))
  (export "stored" (func $stored))
  (export "cyclic" (func $cyclic))
  (export "ways" (func $ways))
  (export "kept" (func $kept))
  (elem (table $functions) (i32.const 1) func $plus $minus $times)
  (elem (table $functions) (i32.const 5) funcref (ref.func $minus) (ref.null func) (ref.func $helper))

  (func $plus (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1)))
  (func $minus (param i32 i32) (result i32)
    (i32.sub (local.get 0) (local.get 1)))
  (func $times (param i32 i32) (result i32)
    (i32.mul (local.get 0) (local.get 1)))

  ;; Touches what only its own module has.
  (func $helper (param i32 i32) (result i32)
    (global.set $counter (i32.add (global.get $counter) (local.get 0)))
    (i32.add (global.get $counter) (local.get 1)))

  ;; A loop, with something rare in it.
  (func $sum (param $n i32) (param $step i32) (result i32)
    (local $total i32) (local $spare i32)
    (block $done
      (loop $again
        (br_if $done (i32.le_s (local.get $n) (i32.const 0)))
        (block $usual
          (br_if $usual (i32.ne (i32.rem_s (local.get $n) (i32.const 5)) (i32.const 0)))
          (local.set $spare (call $twice (local.get $total)))
          (local.set $total (i32.add (local.get $spare) (i32.const 1000)))
          (br_if $done (i32.gt_s (local.get $total) (i32.const 100000))))
        (local.set $total (i32.add (local.get $total) (i32.add (local.get $step) (i32.const 3))))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br $again)))
    (local.get $total))

  ;; A table of branches to frames within and without, and out of the function.
  (func $choose (param $which i32) (param $value i32) (result i32)
    (local $made i32)
    (block $last
      (block $third
        (block $second
          (block $first
            (br_if $last (i32.lt_s (local.get $which) (i32.const 0)))
            (block $inner
              (br_table $inner $first $second $third $last (local.get $which)))
            (local.set $made (i32.add (local.get $value) (i32.const 11)))
            (br $second))
          (local.set $made (call $helper (local.get $value) (local.get $made)))
          (br_if $third (local.get $value)))
        (local.set $value (i32.xor (local.get $value) (local.get $made))))
      (local.set $made (i32.add (local.get $made) (i32.const 1)))
      (if (i32.gt_s (local.get $made) (i32.const 12))
        (then (return (i32.add (local.get $made) (local.get $value))))
        (else (local.set $made (i32.sub (local.get $made) (local.get $value))))))
    (i32.add (i32.mul (local.get $made) (i32.const 3)) (local.get $value)))

  ;; Left from within, with and without a value on the way; one way ends in nothing.
  (func $early (param $one i32) (param $other i32) (result i32)
    (block $on
      (block $odd
        (br_if $odd (i32.and (local.get $one) (i32.const 1)))
        (br_if $on (i32.eqz (local.get $other)))
        (if (i32.eq (local.get $other) (i32.const 9))
          (then
            (drop (call $twice (local.get $one)))
            (unreachable)))
        (return (i32.mul (local.get $one) (local.get $other))))
      (local.set $other (i32.add (local.get $other) (call $plus (local.get $one) (i32.const 40))))
      (return (local.get $other)))
    (i32.const -7))

  ;; Frames in frames, left over several of them; something lies on the stack meanwhile.
  (func $deep (param $one i32) (param $other i32) (result i32)
    (local $kept i32) (local $wide i64)
    (local.set $wide (i64.extend_i32_s (local.get $other)))
    (i32.add
      (local.get $one)
      (block $value (result i32)
        (block $outer
          (block $middle
            (loop $round
              (block $inner
                (br_if $inner (i32.lt_s (local.get $one) (i32.const 2)))
                (local.set $wide (i64.add (local.get $wide) (i64.const 0x1_0000_0001)))
                (local.set $one (i32.sub (local.get $one) (i32.const 2)))
                (local.set $kept (i32.add (local.get $kept) (local.get $one)))
                (br_if $middle (i32.eq (local.get $one) (i32.const 5)))
                (br_if $round (i32.gt_s (local.get $one) (i32.const 1))))
              (br_if $outer (local.get $one)))
            (local.set $kept (i32.add (local.get $kept) (i32.const 100))))
          (br $value (i32.wrap_i64 (i64.shr_u (local.get $wide) (i64.const 3)))))
        (i32.add (local.get $kept) (i32.wrap_i64 (local.get $wide))))))

  ;; A local that only what is rare writes and reads, from one round to the next.
  (func $carried (param $n i32) (param $every i32) (result i32)
    (local $rare i32) (local $at i32)
    (loop $again
      (block $usual
        (br_if $usual (i32.and (local.get $at) (i32.const 3)))
        (local.set $rare (i32.add (i32.mul (local.get $rare) (i32.const 7)) (local.get $at)))
        (i32.store (i32.const 64) (local.get $rare))
        (br_if $usual (i32.lt_s (local.get $rare) (i32.const 50)))
        (local.set $every (i32.add (local.get $every) (local.get $rare))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $again (i32.lt_s (local.get $at) (local.get $n))))
    (local.get $every))

  ;; Calls by the table, also what another part would call.
  (func $through (param $which i32) (param $value i32) (result i32)
    (if (result i32) (i32.and (local.get $which) (i32.const 4))
      (then
        (call_indirect $functions (type $two) (local.get $value) (i32.const 2)
          (i32.add (i32.const 1) (i32.rem_u (local.get $which) (i32.const 3)))))
      (else
        (call_indirect $functions (type $two) (local.get $which) (local.get $value) (i32.const 3)))))

  ;; The stack and the memory are the same for both.
  (func $stored (param $one i32) (param $other i32) (result i32)
    (local $top i32)
    (global.set $stack (local.tee $top (i32.sub (global.get $stack) (i32.const 16))))
    (i32.store (local.get $top) (local.get $one))
    (block $done
      (br_if $done (i32.lt_s (local.get $other) (i32.const 2)))
      (i32.store offset=4 (local.get $top) (call $times (local.get $one) (local.get $other)))
      (i32.store (i32.const 128) (i32.load offset=4 (local.get $top)))
      (br_if $done (i32.lt_s (local.get $other) (i32.const 5)))
      (global.set $stack (i32.add (local.get $top) (i32.const 16)))
      (return (i32.const 77)))
    (global.set $stack (i32.add (local.get $top) (i32.const 16)))
    (i32.add (i32.load (local.get $top)) (i32.load (i32.const 128))))

  ;; What is rare goes on, or to a frame around it, or out of the function.
  (func $ways (param $n i32) (param $value i32) (result i32)
    (local $at i32)
    (loop $again
      (block $skip
        (block $usual
          (br_if $usual (i32.and (local.get $at) (i32.const 1)))
          (local.set $value (i32.add (i32.mul (local.get $value) (i32.const 3)) (local.get $at)))
          (br_if $skip (i32.eqz (i32.rem_s (local.get $value) (i32.const 7))))
          (if (i32.gt_s (local.get $value) (i32.const 60))
            (then (return (i32.add (local.get $value) (local.get $at)))))
          (local.set $value (i32.add (local.get $value) (i32.const 1))))
        (local.set $value (i32.add (local.get $value) (i32.const 2))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $again (i32.lt_s (local.get $at) (local.get $n))))
    (local.get $value))

  ;; What is rare writes a local on one of its paths only.
  (func $kept (param $n i32) (param $value i32) (result i32)
    (block $usual
      (br_if $usual (i32.lt_s (local.get $n) (i32.const 2)))
      (if (i32.eqz (i32.and (local.get $n) (i32.const 1)))
        (then (local.set $value (i32.const 9))))
      (i32.store (i32.const 192) (i32.add (local.get $n) (i32.const 5))))
    (i32.add (local.get $value) (i32.load (i32.const 192))))

  ;; Two that call each other.
  (func $cyclic (param $n i32) (param $sum i32) (result i32)
    (if (i32.le_s (local.get $n) (i32.const 0))
      (then (return (local.get $sum))))
    (call $cyclic_other (i32.sub (local.get $n) (i32.const 1)) (i32.add (local.get $sum) (local.get $n))))
  (func $cyclic_other (param $n i32) (param $sum i32) (result i32)
    (if (i32.eq (local.get $n) (i32.const 6))
      (then (return (i32.add (local.get $sum) (i32.const 500)))))
    (call $cyclic (i32.sub (local.get $n) (i32.const 1)) (i32.xor (local.get $sum) (i32.const 3))))
)
