import { z } from 'zod';

const Made = z.object({ key: z.string() });

/** Limits that no run of this benchmark reaches: they are kept all the same. */
const UNREACHED = 1_000_000_000;

/** A key with every kind of limit and with a budget, which the gateway has to keep for each of its requests. */
export async function makeLimitedKey(adminUrl: string, adminToken: string): Promise<string> {
  const reply = await fetch(`${adminUrl}/admin/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'benchmark',
      limits: {
        requestsPerMinute: UNREACHED,
        tokensPerMinute: UNREACHED,
        imagesPerMinute: UNREACHED,
        audioSecondsPerMinute: UNREACHED,
        concurrentRequests: UNREACHED,
      },
      budget: { usd: UNREACHED, period: 'month', allowUnpriced: true },
    }),
  });
  if (!reply.ok) throw new Error(`no key was made: ${await reply.text()}`);
  return Made.parse(await reply.json()).key;
}
