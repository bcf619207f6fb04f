import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { createMetrics, pageOf } from '@gateway/service-kit/metrics';
import { expect, test } from 'vitest';
import { createUsageMetrics } from './usage-metrics.ts';

/** A streamed answer of eleven tokens, of which the last came a second after the first. */
const record = (changes: Partial<UsageRecord> = {}): UsageRecord => ({
  id: 'req_1',
  keyId: 'key_1',
  team: 'search',
  endpoint: 'responses',
  model: 'gpt-5.2',
  startedAtMs: 0,
  outcome: 'ok',
  channel: 'openai',
  attempts: 1,
  durationMs: 1500,
  firstByteMs: 500,
  consumption: { ...NOTHING_CONSUMED, outputTokens: 11 },
  estimated: false,
  costMicroUsd: 250_000,
  detail: { isStreamed: true },
  ...changes,
});

async function samplesOf(records: readonly UsageRecord[], maxTeams = 0): Promise<readonly string[]> {
  const metrics = createMetrics('text');
  const usage = createUsageMetrics(metrics, { maxTeams });
  for (const one of records) usage.settled(one);
  const page = (await pageOf(metrics).text()).replaceAll(/,?service="text",?/g, '');
  return page.split('\n').filter((line) => /^gateway_(?:cost|team|output_token)/.test(line));
}

test('what requests cost is summed by channel and model', async () => {
  const samples = await samplesOf([
    record(),
    record(),
    record({ model: 'tts-1', channel: 'spare', costMicroUsd: 1 }),
    record({ model: 'free', costMicroUsd: null }),
    record({ channel: null, outcome: 'failed', costMicroUsd: 0 }),
  ]);
  expect(samples.filter((line) => line.startsWith('gateway_cost'))).toEqual([
    'gateway_cost_usd_total{channel="openai",model="gpt-5.2"} 0.5',
    'gateway_cost_usd_total{channel="spare",model="tts-1"} 0.000001',
  ]);
});

test('names of models that callers make up do not grow without bound', async () => {
  const many = Array.from({ length: 300 }, (_, at) =>
    record({ model: `claude-${at}`, costMicroUsd: 1_000_000 }),
  );
  const costs = (await samplesOf(many)).filter((line) => line.startsWith('gateway_cost'));
  expect(costs).toHaveLength(201);
  expect(costs.at(-1)).toBe('gateway_cost_usd_total{channel="openai",model="other"} 100');
});

test('the time per token is that after the first output, of streams whose tokens the provider reported', async () => {
  const ways = [
    record(),
    record({ firstByteMs: null }),
    record({ estimated: true }),
    record({ outcome: 'cut' }),
    record({ consumption: { ...NOTHING_CONSUMED, outputTokens: 1 } }),
    record({ firstByteMs: 1500 }),
    // Whole: its duration is rounded, and the time of its first byte is not.
    record({ firstByteMs: 1499.73, detail: {} }),
  ];
  const samples = await samplesOf(ways);
  expect(samples).toContain('gateway_output_token_seconds_count{channel="openai"} 1');
  expect(samples).toContain('gateway_output_token_seconds_sum{channel="openai"} 0.1');
});

test('teams are a label where a setting says for how many, and no label otherwise', async () => {
  const records = [record(), record({ team: 'ads' }), record({ team: 'hr' }), record({ team: null })];
  const ofTeams = (samples: readonly string[]) => samples.filter((line) => line.startsWith('gateway_team'));
  expect(ofTeams(await samplesOf(records))).toEqual([]);
  expect(ofTeams(await samplesOf(records, 2))).toEqual([
    'gateway_team_requests_total{team="search"} 1',
    'gateway_team_requests_total{team="ads"} 1',
    'gateway_team_requests_total{team="other"} 1',
    'gateway_team_requests_total{team="none"} 1',
    'gateway_team_cost_usd_total{team="search"} 0.25',
    'gateway_team_cost_usd_total{team="ads"} 0.25',
    'gateway_team_cost_usd_total{team="other"} 0.25',
    'gateway_team_cost_usd_total{team="none"} 0.25',
  ]);
});
