import type { Stack } from '@gateway/stack/start-stack';
import { z } from 'zod';
import { askAdmin } from './admin-keys.ts';

const count = z.int().min(0);
const counts = {
  inputTokens: count,
  cachedInputTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  images: count,
  characters: count,
  audioSeconds: z.number(),
};
const UsageSum = z.object({
  model: z.string(),
  outcome: z.string(),
  requests: count,
  ...counts,
  costMicroUsd: count,
  unpricedRequests: count,
});
export type UsageSum = z.infer<typeof UsageSum>;

const UsageLine = z.object({
  id: z.string(),
  model: z.string(),
  outcome: z.string(),
  attempts: count,
  estimated: z.boolean(),
  ...counts,
  cacheWriteTokens: count,
  costMicroUsd: count,
});
export type UsageLine = z.infer<typeof UsageLine>;

/** `GET /admin/v1/usage` of a key, by model and outcome. */
export async function readUsage(stack: Stack, keyId: string): Promise<UsageSum[]> {
  const response = await askAdmin(stack, 'GET', `/admin/v1/usage?groupBy=model,outcome&keyId=${keyId}`);
  const sums = z.object({ data: z.array(UsageSum.partial({ model: true, outcome: true })) });
  // A key that has used nothing has one row without groups.
  return sums.parse(await response.json()).data.flatMap((row) => {
    const whole = UsageSum.safeParse(row);
    return whole.success ? [whole.data] : [];
  });
}

/** `GET /admin/v1/usage/records` of a key. */
export async function readUsageRecords(stack: Stack, keyId: string): Promise<UsageLine[]> {
  const response = await askAdmin(stack, 'GET', `/admin/v1/usage/records?format=ndjson&keyId=${keyId}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => UsageLine.parse(JSON.parse(line)));
}

const Balance = z.object({
  limits: z.array(z.object({ limit: z.string(), value: z.number(), remaining: z.number() })),
  budget: z.object({ spentUsd: z.number(), reservedUsd: z.number() }).nullable(),
});

/** What a key or a team has spent and what is reserved for it, in micro-dollars. */
export async function readBudget(
  stack: Stack,
  of: 'keys' | 'teams',
  id: string,
): Promise<{ spent: number; reserved: number }> {
  const response = await askAdmin(stack, 'GET', `/admin/v1/${of}/${id}/balance`);
  const { budget } = Balance.parse(await response.json());
  if (budget === null) throw new Error(`${id} has no budget`);
  return { spent: Math.round(budget.spentUsd * 1e6), reserved: Math.round(budget.reservedUsd * 1e6) };
}
