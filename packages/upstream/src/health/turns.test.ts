import { expect, test } from 'vitest';
import { candidate, healthForTests } from './health-for-tests.ts';
import { SharedRest } from './rests/rest.ts';

const [a, b, c] = [candidate('a'), candidate('b'), candidate('c')];

/** A person's rest, as it comes from Redis. */
const held = (channel: string, untilMs = Number.POSITIVE_INFINITY) => ({
  ...SharedRest.parse({
    id: 'rest',
    channel,
    account: null,
    model: null,
    cause: null,
    reason: 'maintenance',
    by: 'ada',
    sinceMs: 0,
    untilMs: null,
    requested: true,
    level: 0,
    failures: 0,
    settings: null,
  }),
  untilMs,
});

const adopt = ({ health }: ReturnType<typeof healthForTests>, ...rests: ReturnType<typeof held>[]) =>
  health.adopt(rests, () => false);

test('candidates keep their order while nothing rests', async () => {
  expect(await healthForTests().order([c, a, b])).toEqual([c, a, b]);
});

test('a candidate that rests is tried after all others', async () => {
  const { failures, order } = healthForTests();
  failures(3, a);
  expect(await order([a, b, c])).toEqual([b, c, a]);
});

test('of those that rest the one that recovers soonest is tried first', async () => {
  const fixture = healthForTests();
  fixture.fail(a, 'rate-limited', { waitMs: 30_000 });
  fixture.failures(3, b);
  fixture.fail(c, 'rate-limited', { waitMs: 20_000 });
  expect((await fixture.order([a, b, c]))[0]).toBe(b);
});

test('a rest that the provider requested is kept once another candidate has failed', async () => {
  const fixture = healthForTests();
  fixture.fail(a, 'rate-limited', { waitMs: 30_000 });
  expect(await fixture.order([a, b])).toEqual([b]);
});

test('a channel whose key was refused is tried when all others have failed: the key may be valid again', async () => {
  const { fail, order } = healthForTests();
  fail(a, 'credentials');
  expect(await order([a, b])).toEqual([b, a]);
});

test('if everything rests, one is tried rather than nobody', async () => {
  const fixture = healthForTests();
  fixture.fail(a, 'rate-limited', { waitMs: 40_000 });
  fixture.fail(b, 'rate-limited', { waitMs: 30_000 });
  expect(await fixture.order([a, b])).toEqual([b]);
  expect(await fixture.order([a])).toEqual([a]);
});

test('what a person put to rest is tried last of all, and only if nothing else was', async () => {
  const fixture = healthForTests();
  adopt(fixture, held('b'));
  fixture.fail(a, 'credentials');
  expect(await fixture.order([b, a])).toEqual([a]);
  expect(await fixture.order([b])).toEqual([b]);
});

test("a person's rest is not ended by an answer, and ends when its time is over", () => {
  const fixture = healthForTests();
  adopt(fixture, held('a', fixture.nowMs + 5000));
  fixture.ok(a);
  expect(fixture.health.isResting(a)).toBe(true);
  fixture.nowMs += 5000;
  expect(fixture.health.isResting(a)).toBe(false);
});

test('when a rest is over one request probes, and others go elsewhere until it is answered', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  expect(await fixture.order([a, b])).toEqual([a, b]);
  fixture.failures(1, b);

  const probing = fixture.health.turns([a, b]);
  expect(await probing.next()).toBe(a);
  expect(await fixture.order([a, b])).toEqual([b, a]);
  expect(fixture.health.isResting(a)).toBe(true);
  fixture.ok(a);
  expect(fixture.health.isResting(a)).toBe(false);
  expect(await fixture.order([a, b])).toEqual([a, b]);
});

test('requests that come at the same moment send one probe', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  const first = await Promise.all(
    Array.from({ length: 50 }, async () => fixture.health.turns([a, b]).next()),
  );
  expect(first.filter((one) => one === a)).toHaveLength(1);
});

test('a probe that shows nothing lets another follow', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  expect(await fixture.health.turns([a, b]).next()).toBe(a);
  fixture.neutral(a);
  expect(await fixture.health.turns([a, b]).next()).toBe(a);
});

test('a probe that is not sent lets another follow', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  const unfit = fixture.health.turns([a, b]);
  expect(await unfit.next()).toBe(a);
  unfit.skip(a);
  expect(await fixture.health.turns([a, b]).next()).toBe(a);
});

test('a probe that was sent is the only one while its request asks another candidate beside it', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  const hedged = fixture.health.turns([a, b]);
  expect(await hedged.next()).toBe(a);
  expect(await hedged.next()).toBe(b);
  expect(await fixture.health.turns([a, b]).next()).toBe(b);
});

test('a probe that is never answered is followed by another', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.nowMs += 10_000;
  expect(await fixture.health.turns([a, b]).next()).toBe(a);
  fixture.nowMs += 30_000;
  expect(await fixture.health.turns([a, b]).next()).toBe(a);
});

test('a candidate whose channel and model rest is probed for both', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a);
  fixture.failures(3, a, 'unreachable');
  fixture.nowMs += 10_000;
  expect(await fixture.health.turns([a, b]).next()).toBe(a);
  fixture.ok(a);
  expect(fixture.ended).toHaveLength(2);
});

test('a probe that reaches the provider and fails there ends the rest for its connection', async () => {
  const fixture = healthForTests();
  fixture.failures(3, a, 'unreachable');
  fixture.nowMs += 10_000;
  fixture.fail(a, 'failing');
  expect(fixture.health.isResting(candidate('a', 'other'))).toBe(false);
});
