import { ActionIcon, CopyButton, Group, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import classes from './copy-field.module.css';

interface CopyFieldProps {
  /** What is copied, for those who cannot see it. */
  readonly label: string;
  readonly value: string;
}

/** A text to copy; a whole block of code if it has several lines. */
export function CopyField({ label, value }: CopyFieldProps) {
  return (
    <Group className={classes.field} gap="xs" wrap="nowrap" align="flex-start">
      <Text component="pre" className={classes.text} size="sm" ff="monospace" tabIndex={0} aria-label={label}>
        {value}
      </Text>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy'}>
            <ActionIcon
              variant="subtle"
              color={copied ? 'teal' : 'gray'}
              onClick={copy}
              aria-label={`Copy: ${label}`}
              aria-live="polite"
            >
              {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  );
}
