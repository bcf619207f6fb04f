import { NumberInput, Select, TextInput } from '@mantine/core';
import { type Field, type FieldValues, fieldId, fieldValue, isEditable } from './edit-fields.ts';

interface FieldInputsProps {
  /** What the configuration has. */
  readonly entry: unknown;
  readonly fields: readonly Field[];
  readonly values: FieldValues;
  readonly onChange: (values: FieldValues) => void;
}

/** Fields for members of an entry. A member that has another form is changed in the text. */
export const FieldInputs = ({ entry, fields, values, onChange }: FieldInputsProps) =>
  fields.map((field) => {
    const id = fieldId(field);
    const isFixed = !isEditable(entry, field);
    const shared = {
      label: field.label,
      description: isFixed ? 'Edit this one under "Text"' : field.description,
      disabled: isFixed,
      value: values[id] ?? fieldValue(entry, field) ?? '',
    };
    if (field.kind === 'number')
      return (
        <NumberInput
          key={id}
          {...shared}
          min={0}
          decimalScale={6}
          onChange={(value) => onChange({ ...values, [id]: value })}
        />
      );
    if (typeof field.kind !== 'string')
      return (
        <Select
          key={id}
          {...shared}
          value={String(shared.value)}
          data={[...field.kind]}
          allowDeselect={false}
          onChange={(value) => onChange({ ...values, [id]: value ?? '' })}
        />
      );
    return (
      <TextInput
        key={id}
        {...shared}
        autoComplete="off"
        onChange={(event) => onChange({ ...values, [id]: event.currentTarget.value })}
      />
    );
  });
