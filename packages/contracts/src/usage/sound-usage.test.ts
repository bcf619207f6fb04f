import { expect, test } from 'vitest';
import { soundUsage } from './sound-usage.ts';
import { NOTHING_CONSUMED, UsageResult } from './usage-record.ts';

const estimate: UsageResult = {
  outcome: 'ok',
  channel: null,
  attempts: 0,
  durationMs: 0,
  firstByteMs: null,
  consumption: { ...NOTHING_CONSUMED, inputTokens: 20, outputTokens: 100 },
  estimated: true,
  costMicroUsd: 900,
};
const reported: UsageResult = {
  ...estimate,
  channel: 'openai',
  attempts: 1,
  durationMs: 12.5,
  consumption: { ...NOTHING_CONSUMED, inputTokens: 12, outputTokens: 3 },
  estimated: false,
  costMicroUsd: 45,
};

test('usage in whole numbers stays as it is', () => {
  expect(soundUsage(reported, estimate)).toEqual({ usage: reported, wrong: [] });
});

test.for([12.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])(
  'tokens of %d are replaced by the estimate, and nothing else is',
  (inputTokens) => {
    const { usage, wrong } = soundUsage(
      { ...reported, consumption: { ...reported.consumption, inputTokens } },
      estimate,
    );
    expect(wrong).toEqual(['consumption.inputTokens']);
    expect(usage).toEqual({
      ...reported,
      consumption: estimate.consumption,
      costMicroUsd: 900,
      estimated: true,
    });
  },
);

test('a cost that is no whole number is replaced together with its consumption', () => {
  const { usage, wrong } = soundUsage({ ...reported, costMicroUsd: 0.5 }, estimate);
  expect(wrong).toEqual(['costMicroUsd']);
  expect(usage).toMatchObject({ consumption: estimate.consumption, costMicroUsd: 900, estimated: true });
});

test('any other mistake leaves only the estimate and the outcome', () => {
  const { usage } = soundUsage({ ...reported, outcome: 'cut', durationMs: Number.NaN }, estimate);
  expect(usage).toEqual({ ...estimate, outcome: 'cut' });
  expect(UsageResult.safeParse(usage).success).toBe(true);
});

test('what failed at every channel counts for the last one that was tried', () => {
  const attempts = '"one";outcome=failed;status=500;ms=81, "two";account="b";outcome=unreachable;ms=12';
  const failed = { ...reported, outcome: 'failed' as const, channel: null, detail: { attempts } };
  expect(soundUsage(failed, estimate).usage.channel).toBe('two');
  expect(soundUsage({ ...failed, detail: {} }, estimate).usage.channel).toBeNull();
  expect(soundUsage({ ...failed, channel: 'three' }, estimate).usage.channel).toBe('three');
});
