import { Autocomplete, TagsInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Model } from '../../api/types.ts';
import { modelsQuery } from '../models/models-query.ts';

/** Protocols that nothing here speaks: a model with no others is no choice. */
const NOT_SPOKEN_HERE: readonly string[] = ['completions', 'translations'];

/** Holders of keys are not shown the routes of their models. */
const isChoice = ({ routes }: Pick<Model, 'routes'>): boolean =>
  routes.length === 0 ||
  routes.some(({ protocols }) => protocols.some((one) => !NOT_SPOKEN_HERE.includes(one)));

/** The names of a kind's models; patterns are left out, since they are no names. */
export function useModelNames(kind: Model['kind']): readonly string[] {
  const { data = [] } = useQuery(modelsQuery);
  return data
    .filter((model) => model.kind === kind && !model.name.includes('*') && isChoice(model))
    .map(({ name }) => name);
}

const MAX_COLUMNS = 3;

interface ModelsFieldProps {
  readonly models: readonly string[];
  readonly onChange: (models: string[]) => void;
}

/** Text models side by side. A name that only a pattern allows can be typed. */
export function ModelsField({ models, onChange }: ModelsFieldProps) {
  const names = useModelNames('text');
  return (
    <TagsInput
      flex="2 1 260px"
      label={`Models, up to ${MAX_COLUMNS} side by side`}
      placeholder={models.length === 0 ? 'Choose or type a model' : undefined}
      data={[...names]}
      maxTags={MAX_COLUMNS}
      clearable
      clearButtonProps={{ 'aria-label': 'Remove all models' }}
      value={[...models]}
      onChange={onChange}
    />
  );
}

interface ModelFieldProps {
  readonly kind: Model['kind'];
  readonly model: string;
  readonly onChange: (model: string) => void;
}

/** One model. A name that only a pattern allows can be typed. */
export function ModelField({ kind, model, onChange }: ModelFieldProps) {
  const names = useModelNames(kind);
  return (
    <Autocomplete
      flex="1 1 180px"
      label="Model"
      placeholder="Choose or type a model"
      data={[...names]}
      // All of them, since a name that is chosen already would hide the others.
      filter={({ options }) => options}
      value={model}
      onChange={onChange}
    />
  );
}
