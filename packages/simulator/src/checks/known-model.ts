import { ProviderError } from '../replies/provider-error.ts';

const ABSENT_MODEL_PREFIX = 'no-such-';

/** Every model exists here, except those whose names begin with `no-such-`. */
export const isKnownModel = (model: string): boolean => !model.startsWith(ABSENT_MODEL_PREFIX);

/** @throws ProviderError 404 in the words of the media endpoints */
export const checkModelExists = (model: string): void => {
  if (isKnownModel(model)) return;
  throw new ProviderError({
    status: 404,
    message: `The model '${model}' does not exist.`,
    code: 'model_not_found',
    param: 'model',
  });
};
