import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { adaptMembers } from '../../families/adapt-members.ts';
import type { ImageRules } from '../../families/image-rules.ts';
import { rulesFor, rulesOfCandidate } from '../../families/rules-for.ts';

type Members<Value> = readonly (readonly [name: string, value: Value])[];

interface PrepareOptions<Value> {
  readonly model: ResolvedModel;
  readonly candidate: Candidate;
  /** The caller's, without `model` and `response_format`. */
  readonly members: Members<Value>;
  /** The caller wants an error rather than have a member left out. */
  readonly strict: boolean;
  readonly textOf: (value: Value) => string | undefined;
  readonly fromText: (text: string) => Value;
}

interface Prepared<Value> {
  /** With `model`, and with `response_format` where the provider takes it. */
  readonly members: Members<Value>;
  readonly dropped: readonly string[];
  readonly rules: ImageRules;
}

/**
 * A request's members as this candidate gets them: its own name for the model, base64 where it can be requested, and
 * nothing that its family does not have.
 *
 * @throws {GatewayError} `unsupported_parameter` where something would be left out and the caller is strict
 */
export function prepareMembers<Value>(options: PrepareOptions<Value>): Prepared<Value> {
  const { model, candidate, members, strict, textOf, fromText } = options;
  const rules = rulesOfCandidate(model, candidate);
  const adapted = adaptMembers(members, rulesFor(model), rules, textOf, fromText);
  const [first] = adapted.dropped;
  if (strict && first !== undefined)
    throw new GatewayError('unsupported_parameter', {
      path: [first],
      message: `Unsupported parameter: '${first}' is not available with the upstream of this model.`,
    });
  return {
    rules,
    dropped: adapted.dropped,
    members: [
      ['model', fromText(candidate.model)],
      ...adapted.members,
      ...(rules.takesResponseFormat ? [['response_format', fromText('b64_json')] as const] : []),
    ],
  };
}
