import { createParser } from 'eventsource-parser';
import { Agent, request } from 'undici';
import { z } from 'zod';
import type { Target } from './compared.ts';
import { residentBytes, type WatchedProcess } from './processor-time.ts';

export interface StreamsResult {
  readonly streams: number;
  readonly events: number;
  /** Streams that did not end with their terminal event, or skipped or repeated a sequence number. */
  readonly broken: number;
  /** The most memory that each process held meanwhile, in bytes. */
  readonly peakBytes: ReadonlyMap<string, number>;
}

const Event = z.object({ type: z.string(), sequence_number: z.int() });

/** Opens many streams at once and reads each to its end, checking that no event is lost, repeated or out of order. */
export async function manyStreams(
  { baseUrls, headers }: Target,
  { path, body, streams }: { path: string; body: string; streams: number },
  processes: readonly WatchedProcess[],
): Promise<StreamsResult> {
  const agent = new Agent({ connections: streams, headersTimeout: 120_000, bodyTimeout: 120_000 });
  const peakBytes = new Map<string, number>();
  const watch = setInterval(async () => {
    for (const { name, pid } of processes) {
      peakBytes.set(name, Math.max(peakBytes.get(name) ?? 0, await residentBytes(pid)));
    }
  }, 250);
  let events = 0;
  const readOne = async (): Promise<boolean> => {
    const reply = await request(`${baseUrls[0]}${path}`, {
      dispatcher: agent,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
    let next = 0;
    let isWhole = true;
    let isEnded = false;
    const parser = createParser({
      onEvent: ({ data }) => {
        if (data === '[DONE]') return;
        const event = Event.parse(JSON.parse(data));
        if (event.sequence_number !== next) isWhole = false;
        next += 1;
        events += 1;
        isEnded = event.type === 'response.completed';
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of reply.body) parser.feed(decoder.decode(chunk, { stream: true }));
    return isWhole && isEnded;
  };
  const whole = await Promise.all(Array.from({ length: streams }, () => readOne().catch(() => false)));
  clearInterval(watch);
  await agent.close();
  return { streams, events, broken: whole.filter((ok) => !ok).length, peakBytes };
}
