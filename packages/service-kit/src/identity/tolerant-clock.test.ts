import { expect, test } from 'vitest';
import { createTolerantClock } from './tolerant-clock.ts';

const HOUR_MS = 3_600_000;

/** A clock, and how the world goes on and the clock is set. */
function world() {
  let uptimeMs = 5000;
  let offsetMs = 1_000_000;
  return {
    clock: createTolerantClock({ now: () => uptimeMs + offsetMs, uptime: () => uptimeMs }),
    now: () => uptimeMs + offsetMs,
    pass: (ms: number) => {
      uptimeMs += ms;
    },
    set: (ms: number) => {
      offsetMs += ms;
    },
  };
}

test('it tells the time, also where it is corrected bit by bit', () => {
  const { clock, now, pass, set } = world();
  for (let second = 0; second < 1000; second += 1) {
    expect(clock()).toBe(now());
    pass(1000);
    set(second % 3);
  }
});

test('set forward by an hour, it goes on as before for a minute, and then tells the time', () => {
  const { clock, now, pass, set } = world();
  const before = clock();
  set(HOUR_MS);
  expect(clock()).toBe(before);
  pass(59_999);
  expect(clock()).toBe(before + 59_999);
  pass(1);
  expect(clock()).toBe(now());
  pass(60_000);
  expect(clock()).toBe(now());
});

test('set back by an hour, it tells the time at once', () => {
  const { clock, now, set } = world();
  clock();
  set(-HOUR_MS);
  expect(clock()).toBe(now());
});

test('set forward and back again within the minute, it has never been another', () => {
  const { clock, now, pass, set } = world();
  set(HOUR_MS);
  clock();
  set(-HOUR_MS);
  expect(clock()).toBe(now());
  pass(120_000);
  expect(clock()).toBe(now());
  set(HOUR_MS);
  expect(clock()).toBe(now() - HOUR_MS);
});

test('set forward for longer than a minute, back, and forward again: what was made before the last time is still good', () => {
  const { clock, now, pass, set } = world();
  set(HOUR_MS);
  clock();
  pass(120_000);
  expect(clock()).toBe(now());
  set(-HOUR_MS);
  expect(clock()).toBe(now());
  pass(10);
  set(HOUR_MS);
  expect(clock()).toBe(now() - HOUR_MS);
  pass(60_000);
  expect(clock()).toBe(now());
});

test('set to one time after the other, each later, it goes by the earliest of the last minute', () => {
  const { clock, now, pass, set } = world();
  for (let hour = 1; hour <= 3; hour += 1) {
    pass(30_000);
    clock();
    set(HOUR_MS);
    clock();
  }
  expect(clock()).toBe(now() - 2 * HOUR_MS);
});
