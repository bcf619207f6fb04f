import { expect, test } from 'vitest';
import { CAUSES, type Cause } from './causes/causes.ts';
import { COOLDOWN, candidate, healthForTests } from './health-for-tests.ts';

const a = candidate('a');
const b = candidate('b');

test('failures in a row put a model to rest, and others of its channel go on', () => {
  const { health, failures, began } = healthForTests();
  failures(2, a);
  expect(health.isResting(a)).toBe(false);
  failures(1, a);
  expect(health.isResting(a)).toBe(true);
  expect(health.isResting(candidate('a', 'small'))).toBe(false);
  expect(began).toMatchObject([
    { channel: 'a', account: 'default', model: 'large', cause: 'failing', failures: 3 },
  ]);
});

test('a request that is answered in between begins the count again', () => {
  const { health, failures, ok } = healthForTests();
  failures(2, a);
  ok(a);
  failures(2, a);
  expect(health.isResting(a)).toBe(false);
});

test('a share of failures puts a model to rest though none follow one another', () => {
  const fixture = healthForTests();
  for (let index = 0; index < 4; index += 1) {
    fixture.fail(a);
    fixture.ok(a);
  }
  expect(fixture.health.isResting(a)).toBe(false);
  fixture.fail(a);
  fixture.ok(a);
  fixture.fail(a);
  expect(fixture.health.isResting(a)).toBe(true);
});

test('failures of another window do not count for the share', () => {
  const fixture = healthForTests();
  for (let index = 0; index < 12; index += 1) {
    fixture.fail(a);
    fixture.ok(a);
    fixture.nowMs += COOLDOWN.windowMs / 4;
  }
  expect(fixture.health.isResting(a)).toBe(false);
});

const SCOPE_OF: Readonly<Record<Cause, readonly [otherModel: boolean, otherAccount: boolean]>> = {
  unreachable: [true, true],
  failing: [false, false],
  slow: [false, false],
  overloaded: [false, false],
  'model-missing': [false, false],
  'rate-limited': [false, false],
  'quota-exhausted': [true, false],
  credentials: [true, false],
  'no-credentials': [true, false],
};
const CAUSE_NAMES = Object.keys(SCOPE_OF).filter((name): name is Cause => name in CAUSES);

test.for(CAUSE_NAMES)('%s rests what it concerns and nothing else', (cause) => {
  const { health, failures } = healthForTests();
  failures(COOLDOWN.consecutiveFailures, a, cause);
  const [otherModel, otherAccount] = SCOPE_OF[cause];
  expect(health.isResting(a)).toBe(true);
  expect(health.isResting(candidate('a', 'small'))).toBe(otherModel);
  expect(health.isResting(candidate('a', 'large', 'second'))).toBe(otherAccount);
  expect(health.isResting(b)).toBe(false);
});

test.for(CAUSE_NAMES)('%s rests at once where the first failure leaves no doubt', (cause) => {
  const { health, fail } = healthForTests();
  fail(a, cause);
  expect(health.isResting(a)).toBe(
    ['rate-limited', 'quota-exhausted', 'no-credentials', 'credentials'].includes(cause),
  );
});

test('two failing models put their channel to rest', () => {
  const { health, failures, began } = healthForTests();
  failures(3, candidate('a', 'one'));
  failures(3, candidate('a', 'two'), 'slow');
  expect(health.isResting(candidate('a', 'three'))).toBe(true);
  expect(began.at(-1)).toMatchObject({
    channel: 'a',
    account: null,
    model: null,
    reason: 'several of its models fail',
  });
});

test('two models that fail one long after the other do not', () => {
  const fixture = healthForTests();
  fixture.failures(3, candidate('a', 'one'));
  fixture.nowMs += 20_000;
  fixture.failures(3, candidate('a', 'two'));
  expect(fixture.health.isResting(candidate('a', 'three'))).toBe(false);
});

test('two overloaded models do not', () => {
  const { health, failures } = healthForTests();
  failures(3, candidate('a', 'one'), 'overloaded');
  failures(3, candidate('a', 'two'), 'overloaded');
  expect(health.isResting(candidate('a', 'three'))).toBe(false);
});

test('a rest lasts exactly as long as the provider requested', () => {
  const fixture = healthForTests();
  fixture.fail(a, 'rate-limited', { waitMs: 1898 });
  expect(fixture.health.restingUntilMs(a)).toBe(fixture.nowMs + 1898);
  fixture.nowMs += 1897;
  expect(fixture.health.isResting(a)).toBe(true);
  fixture.nowMs += 1;
  expect(fixture.health.isResting(a)).toBe(false);
});

test('a longer wait that the provider requests during a rest prolongs it, a shorter one does not', () => {
  const fixture = healthForTests();
  fixture.fail(a, 'rate-limited', { waitMs: 5000 });
  fixture.fail(a, 'rate-limited', { waitMs: 2000 });
  expect(fixture.health.restingUntilMs(a)).toBe(fixture.nowMs + 5000);
  fixture.fail(a, 'rate-limited', { waitMs: 9000 });
  expect(fixture.health.restingUntilMs(a)).toBe(fixture.nowMs + 9000);
});

test('rests that follow one another grow up to the maximum, and begin small again after a quiet time', () => {
  const fixture = healthForTests();
  const restMs = () => (fixture.health.restingUntilMs(a) ?? 0) - fixture.nowMs;
  fixture.failures(3, a);
  const seen = [restMs()];
  for (let index = 0; index < 4; index += 1) {
    fixture.nowMs += restMs();
    fixture.fail(a);
    seen.push(restMs());
  }
  expect(seen).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  fixture.nowMs += restMs();
  fixture.ok(a);
  fixture.nowMs += COOLDOWN.maxRestMs + 1;
  fixture.failures(3, a);
  expect(restMs()).toBe(10_000);
});

test('a target that fails again soon after it was woken rests longer', () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  fixture.ok(a);
  fixture.failures(3, a);
  expect(fixture.health.restingUntilMs(a)).toBe(fixture.nowMs + 20_000);
});

test('requests that were under way when a rest began neither prolong nor end it', () => {
  const fixture = healthForTests();
  const startedAtMs = fixture.nowMs;
  fixture.nowMs += 100;
  fixture.failures(3, a);
  const until = fixture.health.restingUntilMs(a);
  fixture.nowMs += 100;
  fixture.fail(a, 'failing', { startedAtMs });
  fixture.ok(a, { startedAtMs });
  expect(fixture.health.restingUntilMs(a)).toBe(until);
});

test('a request from before a rest that fails when the rest is over does not prolong it', () => {
  const fixture = healthForTests();
  const startedAtMs = fixture.nowMs;
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  fixture.fail(a, 'failing', { startedAtMs });
  expect(fixture.health.isResting(a)).toBe(false);
  expect(fixture.began).toHaveLength(1);
});

test('a request that is answered during a rest ends it', () => {
  const fixture = healthForTests();
  fixture.fail(a, 'rate-limited', { waitMs: 60_000 });
  fixture.nowMs += 1;
  fixture.ok(a);
  expect(fixture.health.isResting(a)).toBe(false);
  expect(fixture.ended).toMatchObject([{ how: 'answered', rest: { channel: 'a' } }]);
});

test('wrong credentials rest until the channel has other settings', () => {
  const fixture = healthForTests();
  fixture.fail(a, 'credentials');
  fixture.nowMs += 1e9;
  expect(fixture.health.restingUntilMs(a)).toBe(Number.POSITIVE_INFINITY);
  fixture.health.endOutdated();
  expect(fixture.health.isResting(a)).toBe(true);
  fixture.key = 'key 2';
  fixture.health.endOutdated();
  expect(fixture.health.isResting(a)).toBe(false);
});

test('a slow request does not count where others were answered meanwhile', () => {
  const fixture = healthForTests();
  const startedAtMs = fixture.nowMs;
  fixture.fail(a, 'slow', { startedAtMs });
  fixture.nowMs += 1000;
  fixture.ok(a);
  for (let index = 0; index < 20; index += 1) fixture.fail(a, 'slow', { startedAtMs });
  expect(fixture.health.isResting(a)).toBe(false);
});

test('replies that break after their first output put a model to rest, though each began well', () => {
  const fixture = healthForTests();
  for (let index = 0; index < 3; index += 1) {
    fixture.ok(a);
    fixture.fail(a, 'failing', { stage: 'end' });
  }
  expect(fixture.health.isResting(a)).toBe(true);
});

test('replies that came whole and could not be read put a model to rest, though each was counted as good', () => {
  const fixture = healthForTests();
  for (let index = 0; index < 3; index += 1) {
    expect(fixture.health.isResting(a)).toBe(false);
    fixture.ok(a);
    fixture.ok(a, { stage: 'end' });
    fixture.fail(a, 'failing', { stage: 'reading' });
  }
  expect(fixture.health.isResting(a)).toBe(true);
});

test('one that can be read begins their count again', () => {
  const fixture = healthForTests();
  for (let index = 0; index < 7; index += 1) {
    fixture.ok(a);
    fixture.ok(a, { stage: 'end' });
    if (index % 2 === 0) fixture.fail(a, 'failing', { stage: 'reading' });
  }
  expect(fixture.health.isResting(a)).toBe(false);
});

test('a reply that comes whole begins the count of broken ones again', () => {
  const fixture = healthForTests();
  for (let index = 0; index < 7; index += 1) {
    fixture.ok(a);
    if (index % 2 === 0) fixture.fail(a, 'failing', { stage: 'end' });
    else fixture.ok(a, { stage: 'end' });
  }
  expect(fixture.health.isResting(a)).toBe(false);
});

test('a rest is announced once, however often its probe fails', () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  for (let index = 0; index < 5; index += 1) {
    fixture.nowMs += 100_000;
    fixture.fail(a);
  }
  expect(fixture.began).toHaveLength(1);
});

test('a channel whose cooldown is off never rests', () => {
  const { health, failures } = healthForTests();
  const off = { ...a, channel: { name: 'a', cooldown: null } };
  failures(100, off);
  failures(1, off, 'credentials');
  expect(health.isResting(off)).toBe(false);
});

test('what is remembered of failing targets is bounded', () => {
  const { health, fail } = healthForTests();
  for (let index = 0; index < 5000; index += 1) fail(candidate('a', `model-${index}`), 'rate-limited');
  expect(health.resting()).toHaveLength(2000);
  expect(health.isResting(candidate('a', 'model-4999'))).toBe(true);
});
