import type { Candidate } from '@gateway/upstream/candidate';
import { OPERATIONS } from '@gateway/upstream/protocol';
import type { UpstreamRequest } from '@gateway/upstream/requests/upstream-request';
import { betasOf } from '../../protocols/messages/request/betas.ts';
import { exchangeMembers } from '../../wire/replace-member.ts';

const BETA = 'anthropic-beta';
const PROFILE = 'anthropic-user-profile-id';
/** Members that the envelope has, whatever a caller wrote there. */
const ENVELOPES_OWN = ['anthropic_version', 'anthropic_beta'];

/**
 * A Messages request in the form of a platform that has some of its headers in the body, and the model and `stream` in the
 * path. All others stay as they are.
 */
export function enveloped(request: UpstreamRequest, { channel, route }: Candidate): UpstreamRequest {
  const { envelope, countBetas } = route.quirks;
  const { body, headers, operation } = request;
  const isString = typeof body === 'string';
  if (envelope === null || OPERATIONS[operation] !== 'messages' || !(isString || Buffer.isBuffer(body)))
    return request;
  const inPath = typeof channel.paths[operation] === 'object';
  const streamInPath = inPath && envelope.stream === 'path';
  const removed = [...ENVELOPES_OWN, ...(inPath ? ['model'] : []), ...(streamInPath ? ['stream'] : [])];
  const { 'anthropic-version': _, [BETA]: __, [PROFILE]: profile, ...rest } = headers;
  const takesBetas = operation !== 'messages.count_tokens' || countBetas;
  const betas = takesBetas ? betasOf({ [BETA]: String(headers[BETA] ?? '') }) : [];
  const inBody = envelope.betas === 'body';
  const others = {
    ...rest,
    ...(profile !== undefined && !inBody && { [PROFILE]: profile }),
    ...(!inBody && betas.length > 0 && { [BETA]: betas.join(',') }),
    // What its server answers does not follow from this header, and some refuse the type of an event stream.
    ...(streamInPath && { accept: 'application/json' }),
  };
  const added = {
    anthropic_version: envelope.version,
    ...(inBody && betas.length > 0 && { anthropic_beta: betas }),
    ...(inBody && profile !== undefined && { user_profile_id: String(profile) }),
  };
  const { query: ___, ...sent } = request;
  return {
    ...sent,
    headers: others,
    body: exchangeMembers(isString ? Buffer.from(body) : body, removed, added),
  };
}
