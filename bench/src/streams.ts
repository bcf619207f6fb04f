import { createParser } from 'eventsource-parser';
import { Agent, request } from 'undici';
import { z } from 'zod';
import type { Contender } from './contender.ts';
import { measureProcessorTime, residentBytes } from './processor-time.ts';
import type { Request } from './requests.ts';

export interface StreamsResult {
  readonly events: number;
  /** Microseconds of processor time per event, all processes together. */
  readonly processorUs: number;
  /** Streams that did not end with their terminal event, or skipped or repeated a sequence number. */
  readonly broken: number;
  /** The most memory that one process held meanwhile, in bytes. */
  readonly peakBytes: number;
}

const Event = z.object({ type: z.string(), sequence_number: z.int() });

/** Opens many streams at once and reads each to its end, checking that no event is lost, repeated or out of order. */
export async function manyStreams(
  { baseUrl, headers, processes }: Contender,
  { path, body, streams }: Request & { streams: number },
): Promise<StreamsResult> {
  const agent = new Agent({ connections: streams, headersTimeout: 120_000, bodyTimeout: 120_000 });
  let peakBytes = 0;
  const watch = setInterval(async () => {
    for (const { pid } of processes) peakBytes = Math.max(peakBytes, await residentBytes(pid));
  }, 250);
  let events = 0;
  const readOne = async (): Promise<boolean> => {
    const reply = await request(baseUrl + path, {
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
  const { outcome: whole, timeUs } = await measureProcessorTime(processes, () =>
    Promise.all(Array.from({ length: streams }, () => readOne().catch(() => false))),
  );
  clearInterval(watch);
  await agent.close();
  const totalUs = [...timeUs.values()].reduce((total, us) => total + us, 0);
  return { events, processorUs: totalUs / events, broken: whole.filter((ok) => !ok).length, peakBytes };
}

/** How many events a reply has, counted once by their empty lines. */
export async function eventsOf({ baseUrl, headers }: Contender, { path, body }: Request): Promise<number> {
  const reply = await request(baseUrl + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const text = await reply.body.text();
  return text.split(/\r?\n\r?\n/).filter((frame) => frame.includes('data:')).length;
}
