import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { prepareMembers } from './upstream-parts.ts';

export interface Prepared {
  readonly request: UpstreamRequest;
  readonly dropped: readonly string[];
}

interface GenerationOptions {
  readonly model: ResolvedModel;
  readonly candidate: Candidate;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly strict: boolean;
}

/** A generation as one candidate gets it. */
export function generationRequest({ parameters, ...options }: GenerationOptions): Prepared {
  const { members, dropped } = prepareMembers<unknown>({
    ...options,
    members: Object.entries(parameters),
    textOf: (value) => (typeof value === 'string' ? value : undefined),
    fromText: (text) => text,
  });
  return {
    dropped,
    request: {
      operation: 'images.generations',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      strict: options.strict,
      body: JSON.stringify(Object.fromEntries(members)),
    },
  };
}
