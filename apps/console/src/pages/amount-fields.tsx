import { Checkbox, Group, NumberInput, Select, SimpleGrid, Stack } from '@mantine/core';
import { PERIODS } from './limits.ts';

/** What `form.getInputProps` gives. */
type InputProps = (path: string, options?: { type?: 'checkbox' | 'input' }) => object;

interface AmountFieldsProps {
  readonly fields: readonly { name: string; label: string; about: string; min?: number; max?: number }[];
  /** The path of the limits in the form, such as `limits`. */
  readonly path: string;
  readonly getInputProps: InputProps;
}

/** Limits, each with what it bounds. Empty: not limited. */
export const AmountFields = ({ fields, path, getInputProps }: AmountFieldsProps) => (
  <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
    {fields.map(({ name, label, about, min = 1, max }) => (
      <NumberInput
        key={name}
        label={label}
        description={about}
        placeholder="No limit"
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        min={min}
        {...(max !== undefined && { max })}
        allowDecimal={false}
        allowNegative={false}
        thousandSeparator=","
        {...getInputProps(`${path}.${name}`)}
      />
    ))}
  </SimpleGrid>
);

/** How much money may be spent. */
export const BudgetFields = ({ getInputProps }: { getInputProps: InputProps }) => (
  <Stack gap="sm">
    <Group grow align="flex-start">
      <NumberInput
        label="Budget"
        placeholder="No budget"
        prefix="$"
        min={0}
        decimalScale={6}
        thousandSeparator=","
        allowNegative={false}
        {...getInputProps('budget.usd')}
      />
      <Select label="Period" data={[...PERIODS]} allowDeselect={false} {...getInputProps('budget.period')} />
    </Group>
    <Checkbox
      label="Allow models without a price"
      description="These requests do not count against the budget. Otherwise they are refused."
      {...getInputProps('budget.allowUnpriced', { type: 'checkbox' })}
    />
  </Stack>
);
