import { z } from 'zod';
import type { RunningConsole } from './run-console.ts';
import { seedTraffic } from './seed-traffic.ts';

const Made = z.looseObject({ id: z.string(), key: z.string() });

const WithId = z.looseObject({ id: z.string() });

const NAMES = [
  'search',
  'support-bot',
  'translations',
  'nightly-reports',
  'code-review',
  'image-studio',
  'call-notes',
];

const PEOPLE = [
  { email: 'ann.lee@example.com', name: 'Ann Lee', role: 'team-lead', teams: ['platform', 'research'] },
  { email: 'ben@example.com', name: 'Ben Okafor', role: 'viewer' },
  { email: 'chiara@example.com', name: 'Chiara Rossi', role: 'team-member', teams: ['research'] },
];

/** Jobs: one that is done, one that its provider has no time for, one that takes long. */
const PROMPTS = [
  'A lighthouse at dusk',
  'A harbour [[simulate status=429 retry-after=600]]',
  'A ship [[simulate slow-first-byte=600000]]',
];

/** A batch's lines. */
const LINES = [
  'A pier',
  'A tower [[simulate status=400]]',
  'A bridge',
  'A ferry [[simulate slow-first-byte=600000]]',
];

interface Seeded {
  readonly keyId: string;
  /** Of a request with several attempts. */
  readonly requestId: string;
  /** Of a job that makes an image. */
  readonly jobId: string;
  /** Of a batch with lines that are done, that have failed, and one that takes long. */
  readonly batchId: string;
  /** Of a person who is invited. */
  readonly personId: string;
}

/** Teams, keys, some spending, jobs and a rest, so that pages have something to show. */
export async function seed(running: Pick<RunningConsole, 'call' | 'stack' | 'simulator'>): Promise<Seeded> {
  const { call, stack } = running;
  await call('POST', '/teams', { name: 'platform', budget: { usd: 500, period: 'month' } });
  await call('POST', '/teams', {
    name: 'research',
    budget: { usd: 0.01, period: 'day' },
    limits: { tokensPerMinute: 200_000, concurrentRequests: 20 },
  });
  const people: { readonly id: string }[] = [];
  for (const person of PEOPLE) people.push(WithId.parse(await call('POST', '/people', person)));
  await call('PATCH', `/people/${people[1]?.id}`, { disabled: true });
  const made: z.infer<typeof Made>[] = [];
  for (const [at, name] of NAMES.entries())
    made.push(
      Made.parse(
        await call('POST', '/keys', {
          name,
          owner: at % 2 === 0 ? 'ann' : 'ben',
          ...(at % 3 !== 0 && { team: at % 2 === 0 ? 'platform' : 'research' }),
          ...(at % 2 === 0 && { models: ['gpt-*', 'claude-*', 'dall-e-*'] }),
          ...(at % 4 !== 3 && { budget: { usd: at === 1 ? 0.001 : 25, period: 'month' } }),
          limits: { requestsPerMinute: 60, tokensPerMinute: 100_000 },
          labels: { costCentre: String(40 + at) },
        }),
      ),
    );
  const [first, second, third, fourth, fifth] = made;
  const { requestId } = await seedTraffic(running, [first?.key ?? '', second?.key ?? '']);
  // Its address is private, so that each attempt fails.
  await call('PATCH', `/keys/${fifth?.id}`, { webhookUrl: 'http://127.0.0.1:9/jobs?token=none' });
  await call('POST', `/keys/${fifth?.id}/webhook-secret`, {});
  const jobIds: string[] = [];
  for (const prompt of PROMPTS) {
    const response = await fetch(`${stack.edgeUrl}/v1/images/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${fifth?.key}`,
        'content-type': 'application/json',
        prefer: 'respond-async',
      },
      body: JSON.stringify({ model: 'dall-e-3', prompt }),
    });
    jobIds.push(WithId.parse(await response.json()).id);
  }
  const batch = await fetch(`${stack.edgeUrl}/v1/images/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fifth?.key}`, 'content-type': 'application/jsonl' },
    body: LINES.map((prompt, at) =>
      JSON.stringify({
        custom_id: `page ${at + 1}`,
        method: 'POST',
        url: '/v1/images/generations',
        body: { model: 'dall-e-3', prompt },
      }),
    ).join('\n'),
  });
  const { id: batchId } = WithId.parse(await batch.json());
  await call('PATCH', `/keys/${third?.id}`, { disabled: true });
  await call('DELETE', `/keys/${fourth?.id}`);
  await call('POST', '/channels/local/rest', {
    seconds: 3600,
    reason: 'new graphics cards are being fitted',
  });
  await call('POST', '/channels/openai/rest', {
    model: 'dall-e-3',
    reason: 'wrong colours since this morning',
  });
  return {
    keyId: first?.id ?? '',
    requestId,
    jobId: jobIds[0] ?? '',
    batchId,
    personId: people[0]?.id ?? '',
  };
}
