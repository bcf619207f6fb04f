import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Upstream } from '@gateway/upstream/upstream';
import { IMAGE_FAMILIES, type ImageRules, UNKNOWN_FAMILY } from './image-rules.ts';

const belongs = (models: readonly string[], name: string): boolean =>
  models.some((model) => name === model || name.startsWith(`${model}-`));

/** The rules of a model by its name alone, if it is one that we know. */
const rulesByName = (name: string): ImageRules | undefined =>
  IMAGE_FAMILIES.find(({ models }) => belongs(models, name))?.rules;

/** The rules that a caller of this model is held to: those that the configuration gives or names, else by its name. */
export function rulesFor({ name, family }: Pick<ResolvedModel, 'name' | 'family'>): ImageRules {
  if (family === null) return rulesByName(name) ?? UNKNOWN_FAMILY;
  if (typeof family === 'string') {
    const rows = IMAGE_FAMILIES.filter(({ rules }) => rules.family === family);
    const row = rows.find(({ models }) => belongs(models, name)) ?? rows.at(-1);
    return row?.rules ?? UNKNOWN_FAMILY;
  }
  return {
    ...UNKNOWN_FAMILY,
    family: 'configured',
    sizes: family.sizes ?? null,
    values: {
      ...(family.qualities && { quality: family.qualities }),
      ...(family.styles && { style: family.styles }),
    },
    promptMaxCharacters: family.promptMaxChars ?? null,
    maxImages: family.maxN ?? null,
    maxInputImages: family.maxInputImages ?? UNKNOWN_FAMILY.maxInputImages,
    defaultResponseFormat: family.defaultResponseFormat ?? UNKNOWN_FAMILY.defaultResponseFormat,
    takesResponseFormat: family.acceptsResponseFormat ?? UNKNOWN_FAMILY.takesResponseFormat,
  };
}

/** The rules of the model that a candidate really has under the caller's name. */
export function rulesOfCandidate(
  model: Pick<ResolvedModel, 'name' | 'family'>,
  candidate: Pick<Candidate, 'model'>,
): ImageRules {
  const rules = rulesFor(model);
  if (rules.family === 'configured' || candidate.model === model.name) return rules;
  return rulesByName(candidate.model) ?? rules;
}

/** The channels that stream a model's images, best first. @throws {GatewayError} `unsupported_parameter` where none does */
export function streamingCandidates(
  upstream: Pick<Upstream, 'candidates'>,
  model: ResolvedModel,
): readonly Candidate[] {
  const candidates = upstream
    .candidates({ model, protocol: 'images' })
    .filter((candidate) => rulesOfCandidate(model, candidate).streams);
  if (candidates.length > 0) return candidates;
  throw new GatewayError('unsupported_parameter', {
    path: ['stream'],
    message: `Unsupported parameter: 'stream' is not available with the model '${model.name}'.`,
  });
}
