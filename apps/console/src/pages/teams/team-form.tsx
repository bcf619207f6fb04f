import { Stack, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ApiError } from '../../api/client.ts';
import type { Team } from '../../api/types.ts';
import { FormEnd } from '../../parts/form-end.tsx';
import { AmountFields, BudgetFields } from '../amount-fields.tsx';
import {
  type Amounts,
  amountsOf,
  type BudgetValues,
  budgetOf,
  budgetValuesOf,
  numberOrNull,
} from '../amounts.ts';
import { LIMITS } from '../limits.ts';

/** What the form of a team holds. Limits for some models only are left as they are. */
export interface TeamValues {
  readonly name: string;
  readonly limits: Amounts;
  readonly budget: BudgetValues;
}

const NAMES = LIMITS.map(({ name }) => name);

/** The body of a PATCH that makes the team what the form says. */
export const teamPatchOf = ({ limits, budget }: TeamValues) => ({
  limits: Object.fromEntries(NAMES.map((name) => [name, numberOrNull(limits[name])])),
  budget: budgetOf(budget),
});

interface TeamFormProps {
  /** The team to change; absent: a new one. */
  readonly of?: Team;
  readonly action: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onSubmit: (values: TeamValues) => void;
  readonly onCancel: () => void;
}

export function TeamForm({ of, action, isPending, error, onSubmit, onCancel }: TeamFormProps) {
  const form = useForm<TeamValues>({
    initialValues: {
      name: of?.name ?? '',
      limits: amountsOf(NAMES, of?.limits ?? {}),
      budget: budgetValuesOf(of?.budget ?? null),
    },
    validate: { name: (value) => (value.trim() === '' ? 'Give the team a name.' : null) },
  });
  const problem = error instanceof ApiError ? error : null;
  const inputProps: typeof form.getInputProps = (path, options) => ({
    ...form.getInputProps(path, options),
    ...(problem?.path === path && { error: problem.message }),
  });
  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack>
        {of === undefined && (
          <TextInput
            label="Name"
            description="Cannot be changed later, because keys refer to the team by it."
            withAsterisk
            maxLength={100}
            data-autofocus
            {...inputProps('name')}
          />
        )}
        <Title order={2} size="h5">
          Budget
        </Title>
        <BudgetFields getInputProps={inputProps} />
        <Title order={2} size="h5">
          Limits
        </Title>
        <AmountFields fields={LIMITS} path="limits" getInputProps={inputProps} />
        <FormEnd action={action} isPending={isPending} error={error} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
