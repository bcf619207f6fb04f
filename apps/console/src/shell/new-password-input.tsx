import { PasswordInput, type PasswordInputProps } from '@mantine/core';

/** A field for a password that is set; the service says what is wrong with it. */
export const NewPasswordInput = (props: PasswordInputProps) => (
  <PasswordInput
    description="At least 12 characters. Several unrelated words are a good one."
    autoComplete="new-password"
    minLength={12}
    maxLength={200}
    {...props}
  />
);
