import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Credentials } from './credentials';
import { SourceSettings } from './source-settings';

/** What a prebuilt refresher is told. */
export interface SettingsSource {
  readonly kind: 'settings';
  readonly settings: SourceSettings;
  readonly credentials?: Credentials;
}

/** A function that is a refresher by itself. */
export interface FunctionSource {
  readonly kind: 'function';
  readonly function: lambda.IFunction;
}

/** A source, checked where it is used. */
export type BoundSource = SettingsSource | FunctionSource;
