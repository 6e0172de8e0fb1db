/** Where a rule of AWS stands. */
export interface Sourced {
  /** The document. */
  readonly source: string;
  /** Whether it says so. Else it says what comes nearest, and AWS itself has to be asked. */
  readonly documented: boolean;
  /** What asks AWS, in `test/integ`: the name of a test, and of a probe or a token in it. */
  readonly cases?: readonly string[];
}

export const ACTIONS_OF_DYNAMODB = 'https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html';
const DYNAMODB = 'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide';
export const FINE_GRAINED = `${DYNAMODB}/specifying-conditions.html`;
export const TRANSACTIONS = `${DYNAMODB}/transaction-apis-iam.html`;
export const PARTIQL = `${DYNAMODB}/ql-iam.html`;
export const CONDITIONS_OF_KMS = 'https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html';
export const GLOBAL_CONDITIONS = 'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html';
