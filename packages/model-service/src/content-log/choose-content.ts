import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { CONTENT_LOG_HEADER, type ContentOmission } from '@gateway/contracts/content-log';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { fitsPattern } from '@gateway/contracts/models/model-pattern';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { ContentRule } from '@gateway/upstream/configuration/content-log';

interface ContentRequest {
  readonly identity: Pick<Identity, 'keyId' | 'team'>;
  /** The caller's name for it. */
  readonly model: string;
  readonly headers: IncomingHttpHeaders;
  /** By which a share of all requests is chosen: the same id is always chosen, or never. */
  readonly id: string;
}

/** The rule by which a request is logged; why it is not, where a rule applies to it; null: no rule applies. */
type Choice = { readonly rule: ContentRule } | { readonly omitted: ContentOmission } | null;

/**
 * Chooses at the begin of a request whether it is logged.
 *
 * @throws {GatewayError} where its caller wants it not to be and may not choose
 */
export function chooseContent(
  { contentLog, conversations }: Pick<Configuration, 'contentLog' | 'conversations'>,
  { identity, model, headers, id }: ContentRequest,
): Choice {
  if (contentLog === null) return null;
  if (isNeverKept(conversations, { identity, model })) return null;
  const rule = ruleFor(contentLog, { identity, model });
  if (rule === undefined) return null;
  if (wantsNone(headers[CONTENT_LOG_HEADER], rule)) return { omitted: 'caller' };
  return isInShare(id, rule.share) ? { rule } : { omitted: 'share' };
}

type Subject = Pick<ContentRequest, 'identity' | 'model'>;

export const isNeverKept = (
  { neverKept: { keys, models } }: Configuration['conversations'],
  { identity, model }: Subject,
): boolean => keys.includes(identity.keyId) || fitsSome(models, model);

/** Whether a rule applies, so that what is to be logged is worth gathering. */
export const isLogged = (
  { contentLog, conversations }: Pick<Configuration, 'contentLog' | 'conversations'>,
  subject: Subject,
): boolean =>
  contentLog !== null && ruleFor(contentLog, subject) !== undefined && !isNeverKept(conversations, subject);

/** The first rule that names a request. */
export const ruleFor = (
  { rules }: NonNullable<Configuration['contentLog']>,
  { identity, model }: Subject,
): ContentRule | undefined => rules.find((one) => applies(one, identity, model));

const applies = (
  { keys, teams, models }: ContentRule,
  { keyId, team }: ContentRequest['identity'],
  model: string,
): boolean =>
  (keys === null || keys.includes(keyId)) &&
  (teams === null || (team !== null && teams.includes(team))) &&
  (models === null || fitsSome(models, model));

const fitsSome = (patterns: readonly string[], model: string): boolean =>
  patterns.some((pattern) => fitsPattern(pattern, model));

function wantsNone(wish: string | string[] | undefined, { mayOptOut }: ContentRule): boolean {
  if (wish === undefined) return false;
  if (wish !== 'off')
    throw new GatewayError(
      'invalid_value',
      `The header '${CONTENT_LOG_HEADER}' takes the value 'off' only. Omit it, or send 'off'.`,
    );
  if (mayOptOut) return true;
  throw new GatewayError(
    'content_log_required',
    `Requests of this key for this model are logged with their content, and the key may not turn that off. Omit the header '${CONTENT_LOG_HEADER}', or ask an admin of the gateway to allow it.`,
  );
}

const BITS = 32;

/** An id is in a share if it is in every larger one. */
function isInShare(id: string, share: number): boolean {
  if (share >= 1) return true;
  return createHash('sha256').update(id).digest().readUInt32BE(0) < share * 2 ** BITS;
}
