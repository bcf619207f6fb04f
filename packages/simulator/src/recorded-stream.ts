import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../fixtures/streams/', import.meta.url);

/**
 * The bytes of a recorded event stream, framing included: `responses-text`, `messages-thinking-and-text` and so on.
 * @throws if there is no stream of this name
 */
export const recordedStream = (name: string): Buffer => readFileSync(new URL(`${name}.sse`, FOLDER));

/** The names of all recorded streams. */
export const recordedStreamNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sse'))
    .map((file) => file.slice(0, -'.sse'.length))
    .sort();
