import { CfnResource, Stack } from 'aws-cdk-lib';

/** A resource as the template will have it. */
export interface Rendered<Properties> {
  readonly Properties?: Properties;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** All of a resource, overrides included. In validations alone: it renders lists such as layers, and CDK keeps what it renders first. */
export function renderedResource<Properties>(resource: CfnResource): Rendered<Properties> {
  const element = resource as unknown as { _toCloudFormation(): object };
  const template = Stack.of(resource).resolve(element._toCloudFormation()) as { Resources?: { [id: string]: Rendered<Properties> } };
  return Object.values(template.Resources ?? {})[0] ?? {};
}
