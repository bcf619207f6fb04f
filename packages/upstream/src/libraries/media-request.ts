import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { Operation } from '../protocol.ts';
import type { MultipartPart } from '../requests/multipart-body.ts';
import type { UpstreamRequest } from '../requests/upstream-request.ts';
import type { Members } from './library.ts';

type FilePart = Extract<MultipartPart, { readonly path: string }>;

/** A request as a library gets it: its members, from JSON or from a form, and its files. */
export interface MediaRequest {
  readonly operation: Operation;
  readonly members: Members;
  readonly files: readonly FilePart[];
  readonly strict: boolean;
}

/** One request on its way through a library. */
export interface LibraryCall {
  readonly members: Members;
  readonly files: readonly FilePart[];
  /** The channel's bound for the whole. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What it came to, as a provider of the protocol would have answered. */
export interface LibraryAnswer {
  readonly contentType: string;
  readonly body: Buffer;
}

/** `keywords[]` as `keywords`. */
const LIST = /\[\d*\]$/;

/** Reads what was prepared for an HTTP request. */
export function mediaRequestOf({ operation, body, strict }: UpstreamRequest): MediaRequest {
  const request = { operation, strict: strict ?? false };
  if (typeof body === 'object' && 'open' in body) {
    if (body.parts === undefined) throw new Error(`no parts to read ${operation} from`);
    return { ...request, ...fromParts(body.parts) };
  }
  const value = jsonIn(String(body ?? '{}'));
  if (typeof value !== 'object' || value === null) throw new Error('a body that is no object');
  return { ...request, members: Object.fromEntries(Object.entries(value)), files: [] };
}

function fromParts(parts: readonly MultipartPart[]): Pick<MediaRequest, 'members' | 'files'> {
  const gathered = new Map<string, string | string[]>();
  const files: FilePart[] = [];
  for (const part of parts) {
    if ('path' in part) files.push(part);
    else if (LIST.test(part.name)) {
      const name = part.name.replace(LIST, '');
      const before = gathered.get(name) ?? [];
      gathered.set(name, [...(Array.isArray(before) ? before : [before]), part.value]);
    } else gathered.set(part.name, part.value);
  }
  return { members: Object.fromEntries(gathered), files };
}

const Voice = z.union([z.string(), z.looseObject({ id: z.string() }).transform(({ id }) => id)]);

/** A voice by its name, or by the id that its provider gave it. */
export const voiceOf = ({ voice }: Members): string => Voice.catch('').parse(voice);
